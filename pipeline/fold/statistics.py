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
from tidemark.pipeline.fold.grouped_records import STATISTICS, RowsOfOutput
from tidemark.pipeline.fold.grouping_sets import Groupings
from tidemark.pipeline.fold.packed import GROUP, unpacked_rows
from tidemark.pipeline.fold.rejected_fields import REJECTED, stored_byte_counts
from tidemark.pipeline.measures import TIME_DIGITS

ROW_BYTES: Final = 100
"""Approximate bytes of a folded row without its texts."""
_PACKED_BYTES: Final = 40
"""Bytes of a packed row without its keys and its parts."""
_KEY_BYTES: Final = 4
"""Bytes of a key without its text. A row of another set stores null, which takes as many."""
_PART_BYTES: Final = 8
_TIME_BYTES: Final = TIME_DIGITS + 1
_SKETCH_BYTES: Final = 4_136
"""Bytes of the largest sketch."""
_VALUE_BYTES: Final = 12
"""Bytes of a sketch for each of a few values."""
_SAMPLE_RECORDS: Final = 10_000
_GROUPS: Final = 1
"""The grouping of the statistic whose records and bytes are those of the groups and rejected records."""
_BYTES: Final = "bytes"


class Sample(NamedTuple):
    """The share of rejected records, and the bytes of packed rows per record if as many keys differ as in the sample.

    Of more records as many or fewer do, unless the first ones are unlike the others.
    """

    rejected: float
    row_bytes: float


def sample_of(keyed: DataFrame, outputs: Sequence[RowsOfOutput], part_count: int) -> Sample:
    """Returns averages over the first records of `keyed`, 0 without records; packed rows have `part_count` parts."""
    rows = keyed.limit(_SAMPLE_RECORDS)
    key_count, sizes = len({key for output in outputs for key in output.rows.keys}), list[Column]()
    for (_, keys, sketched), texts in outputs:
        fixed = _PACKED_BYTES + _KEY_BYTES * key_count + _PART_BYTES * part_count + _TIME_BYTES * len(texts)
        row_share = _differing(keys) / F.count(F.lit(1))
        sizes.append(F.avg(bytes_of([*_texts(keys), *texts], fixed)) * row_share)
        for key in sketched:
            values = _differing([*keys, key]) / F.count(F.lit(1))
            sizes.append(F.least(_SKETCH_BYTES * row_share, _VALUE_BYTES * values))
    rejected = F.avg(F.col(REJECTED).isNotNull().cast("int")).alias(REJECTED)
    [row] = rows.agg(rejected, reduce(operator.add, sizes, F.lit(0.0)).alias(_BYTES)).collect()
    return Sample(row[REJECTED] or 0.0, row[_BYTES] or 0.0)


def statistic_columns(groupings: Groupings) -> tuple[list[Column], list[Column]]:
    """Returns for the unpacked rows of a fold the grouping columns of `Statistic`, and its sums."""
    is_statistic = F.col(c.GROUPING) == STATISTICS
    others = {c.PARTITION: F.lit(0), c.CHECK: F.lit(0), c.PANE_START: F.lit(None), c.AGE_MS: F.lit(0)}
    by = {name: F.when(is_statistic, F.col(name)).otherwise(other).alias(name) for name, other in others.items()}
    sums = [
        F.sum(c.RECORDS).alias(c.RECORDS),
        F.max(c.MAX_EVENT_TIME).alias(c.MAX_EVENT_TIME),
        F.sum(bytes_of([*_texts(groupings.keys), *groupings.sketches, c.KEY, c.VALUE])).alias(_BYTES),
    ]
    return [F.when(is_statistic, 0).otherwise(_GROUPS).alias(c.GROUPING), *by.values()], sums


def statistics_of(packed: pa.Table, groupings: Groupings, partitions: int) -> list[Statistic]:
    """Computes the rows of `FoldPlan.spark_statistics` from packed rows on the driver."""
    is_statistic = pc.equal(packed[c.GROUPING], STATISTICS)
    groups = packed.filter(pc.invert(is_statistic))
    lengths = [_length(groups[name]) for name in _texts(groupings.keys)]
    lengths += [pc.fill_null(pc.binary_length(groups[name]).cast(pa.int64()), 0) for name in groupings.sketches]
    size = pc.sum(reduce(pc.add, lengths, pc.add(stored_byte_counts(groups), ROW_BYTES))).as_py()
    others = [Statistic(_GROUPS, 0, 0, None, 0, pc.sum(groups[c.RECORDS]).as_py(), None, size)] if len(groups) else []
    rows = packed.filter(is_statistic).select([GROUP, c.AGE_MS, c.RECORDS, c.MAX_EVENT_TIME])
    functions = [(c.RECORDS, "sum"), (c.MAX_EVENT_TIME, "max"), (c.RECORDS, "count")]
    sums = unpacked_rows(rows.group_by([GROUP, c.AGE_MS]).aggregate(functions), groupings, partitions)
    names = [c.PARTITION, c.CHECK, c.PANE_START, c.AGE_MS, *(f"{name}_{function}" for name, function in functions)]
    *found, counts = (sums[name].to_pylist() for name in names)
    sizes = (count * ROW_BYTES for count in counts)
    return [*(Statistic(0, *row) for row in zip(*found, sizes, strict=True)), *others]


def bytes_of(texts: Sequence[str], others: int = ROW_BYTES) -> Column:
    """Returns the approximate size of a row: the lengths of the columns `texts` plus `others` bytes for the rest."""
    return reduce(operator.add, [F.coalesce(F.length(name), F.lit(0)) for name in texts], F.lit(others))


def _differing(keys: Sequence[str]) -> Column:
    """Returns about how many combinations of values the columns `keys` have."""
    return F.approx_count_distinct(F.xxhash64(*keys) if keys else F.lit(0))


def _texts(keys: Sequence[str]) -> list[str]:
    return [name for name in keys if name != c.RECORD_POSITION]


def _length(texts: pa.ChunkedArray) -> Any:
    return pc.fill_null(pc.utf8_length(texts).cast(pa.int64()), 0)
