"""Statistics of a fold for the ledger and the watermark: records by partition, check, pane and age.

Spark computes them from rows in its cache, Arrow from rows that the driver has. `Sample` estimates a fold before it
runs.
"""

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.tallies import Statistic
from tidemark.pipeline.fold.grouping_sets import Groupings
from tidemark.pipeline.fold.packed import GROUP, unpacked_rows
from tidemark.pipeline.fold.rejected_fields import REJECTED, stored_byte_counts

NOW: Final = "now"
"""The column of the clock at the start of the batch, in milliseconds since 1970."""
_YOUNG_MS: Final = 10_000
ROW_BYTES: Final = 100
"""Approximate bytes of a folded row without its texts."""
_PACKED_BYTES: Final = 56
"""Approximate bytes of a packed row without its texts."""
_SAMPLE_RECORDS: Final = 1_000
_KEYS: Final = (c.GROUPING, c.PARTITION, c.CHECK, c.PANE_START, c.AGE_MS)
_BYTES: Final = "bytes"


class Sample(NamedTuple):
    """The share of rejected records, and the bytes of a packed row if each record were a row of its own."""

    rejected: float
    row_bytes: float


def sample_of(keyed: DataFrame, keys: Sequence[str]) -> Sample:
    """Returns averages over the first records of `keyed`, which has the columns `keys`; 0 without records."""
    size = bytes_of(_texts(keys), _PACKED_BYTES)
    columns = [F.col(REJECTED).isNotNull().cast("int").alias(REJECTED), size.alias(_BYTES)]
    averages = [F.avg(name).alias(name) for name in (REJECTED, _BYTES)]
    [row] = keyed.select(*columns).limit(_SAMPLE_RECORDS).agg(*averages).collect()
    return Sample(row[REJECTED] or 0.0, row[_BYTES] or 0.0)


def statistic_columns(keys: Sequence[str]) -> tuple[list[Column], list[Column]]:
    """Returns for the unpacked rows of a fold by `keys` the grouping columns of `Statistic`, and its sums."""
    age = _rough(F.col(NOW) - F.col(c.OLDEST)).alias(c.AGE_MS)
    sums = [
        F.sum(c.RECORDS).alias(c.RECORDS),
        F.max(c.MAX_EVENT_TIME).alias(c.MAX_EVENT_TIME),
        F.sum(bytes_of([*_texts(keys), c.KEY, c.VALUE])).alias(_BYTES),
    ]
    return [*map(F.col, _KEYS[:-1]), age], sums


def statistics_of(packed: pa.Table, now: int, groupings: Groupings, partitions: int) -> list[Statistic]:
    """Computes statistics from packed rows on the driver; `now` is in milliseconds since 1970."""
    lengths = [_length(packed[name]) for name in _texts(groupings.keys)]
    sizes = reduce(pc.add, lengths, pc.add(stored_byte_counts(packed), ROW_BYTES))
    ages = _rough_ages(pc.fill_null(pc.subtract(now, packed[c.OLDEST]), 0))
    keys = [c.GROUPING, GROUP]
    rows = (
        packed.select([*keys, c.RECORDS, c.MAX_EVENT_TIME]).append_column(c.AGE_MS, ages).append_column(_BYTES, sizes)
    )
    functions = [(c.RECORDS, "sum"), (c.MAX_EVENT_TIME, "max"), (_BYTES, "sum")]
    groups = unpacked_rows(rows.group_by([*keys, c.AGE_MS]).aggregate(functions), groupings, partitions)
    groups = groups.select([*_KEYS, *(f"{name}_{function}" for name, function in functions)])
    return [Statistic(*row.values()) for row in groups.to_pylist()]


def bytes_of(texts: Sequence[str], others: int = ROW_BYTES) -> Column:
    """Returns the approximate size of a row: the lengths of the columns `texts` plus `others` bytes for the rest."""
    return reduce(operator.add, [F.coalesce(F.length(name), F.lit(0)) for name in texts], F.lit(others))


def _texts(keys: Sequence[str]) -> list[str]:
    return [name for name in keys if name != c.RECORD_POSITION]


def _length(texts: pa.ChunkedArray) -> Any:
    return pc.fill_null(pc.utf8_length(texts).cast(pa.int64()), 0)


def _rough_ages(age: pa.ChunkedArray) -> Any:
    """Rounds ages like `_rough`."""
    digits = pc.floor(pc.log2(pc.max_element_wise(age, _YOUNG_MS))).cast(pa.int64())
    step = pc.if_else(pc.less(age, _YOUNG_MS), 50, pc.shift_left(1, pc.subtract(digits, 3)))
    rounded = pc.multiply(pc.divide(age, step), step)
    return pc.if_else(pc.greater(age, 0), rounded, 0)


def _rough(age: Column) -> Column:
    """Rounds an age in milliseconds down: to 50 ms below 10 s, then to an eighth, so that a backlog has few ages."""
    step = F.when(age < _YOUNG_MS, F.lit(50)).otherwise(F.pow(2, F.floor(F.log2(age)) - 3)).cast("long")
    return F.when(age > 0, age - age % step).otherwise(0)
