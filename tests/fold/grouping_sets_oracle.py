"""The second half of a fold in Spark's own functions: records are grouped for each output. It is slow, and short."""

from functools import partial, reduce
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.fold.fold_plan import FoldPlan
from tidemark.pipeline.fold.grouping_sets import SKETCH_OF
from tidemark.pipeline.fold.packed import GROUP, unpacked
from tidemark.pipeline.fold.record_columns import MOVING_TIME
from tidemark.pipeline.fold.rejected_fields import REJECTED, field_columns
from tidemark.pipeline.measures import TIME_DIGITS, Join

_SKETCH_SQL: Final = "hll_sketch_agg(nullif({key}, ''), 12)"
_PARTS_SQL: Final = {
    c.PAGE_VIEWS: "sum(visit)",
    c.CLICKS: "sum(click)",
    c.EVENTS: "count(1)",
    c.FIRST_TIME: "min(time)",
    c.LAST_TIME: "max(time)",
    c.LAST_PAGE: f"concat_ws(' ', lpad(CAST(max(time) AS STRING), {TIME_DIGITS}, '0'), page_url)",
}


def folded_by_spark(plan: FoldPlan, keyed: DataFrame) -> pa.Table:
    """Returns the groups of all records, and a row per rejected record, which also is a group of the first output."""
    groupings = plan.groupings
    records, latest = F.count("*").alias(c.RECORDS), F.max(MOVING_TIME).alias(c.MAX_EVENT_TIME)
    found = list[DataFrame]()
    for index, (output, *_) in enumerate(groupings.outputs):
        own = [consumer for consumer in plan.consumers if groupings.of(consumer) == index]
        parts = dict.fromkeys(part for consumer in own for part in consumer.parts if part.join is not Join.SKETCH)
        sums = [F.expr(_PARTS_SQL[part.name]).alias(part.name) for part in parts]
        by = [GROUP, *output.keys, *([] if index else [REJECTED])]
        sketches = [F.expr(_SKETCH_SQL.format(key=key)).alias(f"{SKETCH_OF}{key}") for key in output.sketched]
        rows = keyed.groupBy(*by).agg(F.lit(index).alias(c.GROUPING), records, latest, *sums, *sketches)
        found.append(
            rows if not index else rows.withColumn(REJECTED, F.lit(None).cast(keyed.schema[REJECTED].dataType))
        )
    rows = reduce(partial(DataFrame.unionByName, allowMissingColumns=True), found)
    fields = [*unpacked(groupings, plan.partitions), *field_columns(REJECTED)]
    unchanged = [name for name in rows.columns if name not in (GROUP, REJECTED)]
    return rows.select(*fields, *unchanged).toArrow()
