"""What the driver is told of a fold: records by partition, check, pane and age, for the ledger and the watermark.

Of a fold that is left with Spark it tells that; of one that the driver has taken Arrow does. And of one that is to
come a sample tells what it may be like.
"""

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline import columns as c
from pipeline.event_time.tallies import Statistic
from pipeline.fold.grouping_sets import Groupings
from pipeline.fold.packed import GROUP, unpacked_rows
from pipeline.fold.rejected_records import REJECTED, bytes_kept

NOW: Final = "now"
"""The column of the clock when the batch began, in milliseconds."""
_YOUNG_MS: Final = 10_000
ROW_BYTES: Final = 100
"""About as many of a folded row, beside its texts."""
_PACKED_BYTES: Final = 56
"""And of a packed one."""
_SAMPLE: Final = 1_000
_BY: Final = (c.GROUPING, c.PARTITION, c.CHECK, c.PANE_START, c.AGE_MS)
_BYTES: Final = "bytes"


class Sample(NamedTuple):
    """The share of rejected records, and bytes of a packed row were each record a row of its own."""

    rejected: float
    row_bytes: float


def sample_of(keyed: DataFrame, keys: Sequence[str]) -> Sample:
    """Of the first records that Spark finds in the first half of a fold; none are no share."""
    size = bytes_of(_texts(keys), _PACKED_BYTES)
    some = keyed.select(F.col(REJECTED).isNotNull().cast("int").alias(REJECTED), size.alias(_BYTES)).limit(_SAMPLE)
    [found] = some.agg(F.avg(REJECTED).alias(REJECTED), F.avg(_BYTES).alias(_BYTES)).collect()
    return Sample(found[REJECTED] or 0.0, found[_BYTES] or 0.0)


def statistics(keys: Sequence[str]) -> tuple[list[Column], list[Column]]:
    """The grouping key of statistics over a fold with these keys, and their sums."""
    age = _rough(F.col(NOW) - F.col(c.OLDEST))
    return [*map(F.col, _BY[:-1]), age.alias(c.AGE_MS)], [
        F.sum(c.RECORDS).alias(c.RECORDS),
        F.max(c.MAX_EVENT_TIME).alias(c.MAX_EVENT_TIME),
        F.sum(bytes_of([*_texts(keys), c.KEY, c.VALUE])).alias(_BYTES),
    ]


def statistics_of(packed: pa.Table, keys: Sequence[str], now: int, grid: Groupings, partitions: int) -> list[Statistic]:
    """The same of the packed rows of a fold with these keys, at `now` in milliseconds."""
    lengths = [_length(packed[name]) for name in _texts(keys)]
    sizes = reduce(pc.add, lengths, pc.add(bytes_kept(packed), ROW_BYTES))
    ages = _rough_age(pc.fill_null(pc.subtract(now, packed[c.OLDEST]), 0))
    by = [c.GROUPING, GROUP]
    rows = packed.select([*by, c.RECORDS, c.MAX_EVENT_TIME]).append_column(c.AGE_MS, ages).append_column(_BYTES, sizes)
    found = rows.group_by([*by, c.AGE_MS]).aggregate([(c.RECORDS, "sum"), (c.MAX_EVENT_TIME, "max"), (_BYTES, "sum")])
    sums = [f"{c.RECORDS}_sum", f"{c.MAX_EVENT_TIME}_max", f"{_BYTES}_sum"]
    rows = unpacked_rows(found, grid, partitions).select([*_BY, *sums])
    return [Statistic(*row.values()) for row in rows.to_pylist()]


def bytes_of(texts: Sequence[str], beside: int = ROW_BYTES) -> Column:
    """About how large a row with these texts is, which has so many bytes beside them."""
    return reduce(operator.add, [F.coalesce(F.length(name), F.lit(0)) for name in texts], F.lit(beside))


def _texts(keys: Sequence[str]) -> list[str]:
    return [name for name in keys if name != c.RECORD_POSITION]


def _length(texts: pa.ChunkedArray) -> Any:
    return pc.fill_null(pc.utf8_length(texts).cast(pa.int64()), 0)


def _rough_age(age: pa.ChunkedArray) -> Any:
    digits = pc.floor(pc.log2(pc.max_element_wise(age, _YOUNG_MS))).cast(pa.int64())
    step = pc.if_else(pc.less(age, _YOUNG_MS), 50, pc.shift_left(1, pc.subtract(digits, 3)))
    whole = pc.multiply(pc.divide(age, step), step)
    return pc.if_else(pc.greater(age, 0), whole, 0)


def _rough(age: Column) -> Column:
    """An age to 50 ms while it is young, to one part in eight after that, so that a backlog has few distinct ones."""
    step = F.when(age < _YOUNG_MS, F.lit(50)).otherwise(F.pow(2, F.floor(F.log2(age)) - 3)).cast("long")
    return F.when(age > 0, age - age % step).otherwise(0)
