"""The second half of a fold in Spark's own functions: a grouping set per set of keys. It is slow, and short."""

from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.fold.fold_plan import FoldPlan
from tidemark.pipeline.fold.packed import GROUP, unpacked
from tidemark.pipeline.fold.record_columns import MOVING_TIME
from tidemark.pipeline.fold.rejected_fields import REJECTED, field_columns
from tidemark.pipeline.measures import TIME_DIGITS, Join

_SET: Final = "set"
_PARTS_SQL: Final = {
    c.PAGE_VIEWS: "sum(visit)",
    c.CLICKS: "sum(click)",
    c.EVENTS: "count(1)",
    c.FIRST_TIME: "min(time)",
    c.LAST_TIME: "max(time)",
    c.LAST_PAGE: f"concat_ws(' ', lpad(CAST(max(time) AS STRING), {TIME_DIGITS}, '0'), page_url)",
}


def folded_by_spark(plan: FoldPlan, keyed: DataFrame) -> pa.Table:
    """Returns the groups of all records, and a row per rejected record, which also is a group of the first set."""
    groupings = plan.groupings
    by = [GROUP, *groupings.keys, REJECTED]
    first, *others = ([GROUP, *keys] for keys in groupings.sets)
    sets = [[*first, REJECTED], *others]
    parts = dict.fromkeys(part for consumer in plan.consumers for part in consumer.parts)
    sums = [F.expr(_PARTS_SQL[part.name]).alias(part.name) for part in parts if part.join is not Join.SKETCH]
    records, latest = F.count("*").alias(c.RECORDS), F.max(MOVING_TIME).alias(c.MAX_EVENT_TIME)
    rows = keyed.groupingSets(sets, *by).agg(F.grouping_id().alias(_SET), records, latest, *sums)
    # Spark's id of a set has one bit for each column, set if the set does not have the column.
    bits = {name: 1 << index for index, name in enumerate(reversed(by))}
    ids = [sum(bit for name, bit in bits.items() if name not in names) for names in sets]
    index = (F.array_position(F.lit(ids), F.col(_SET)) - 1).cast("int").alias(c.GROUPING)
    fields = [*unpacked(groupings, plan.partitions), *field_columns(REJECTED)]
    unchanged = [name for name in rows.columns if name not in (_SET, GROUP, REJECTED)]
    return rows.select(index, *fields, *unchanged).toArrow()
