"""The rows of a fold that the driver takes from Spark: all at once, or in as many chunks as it has memory for."""

import operator
from collections.abc import Iterator
from functools import reduce
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.dimensions import DIMENSION
from tidemark.pipeline.event_time.event_ids import Longs
from tidemark.pipeline.event_time.field_measures import TEXT_OF
from tidemark.pipeline.event_time.reports import KEYS
from tidemark.pipeline.event_time.rules import PARTITION_STEP
from tidemark.pipeline.fold.rejected_fields import POSITION
from tidemark.pipeline.fold.statistics import bytes_of

_CHUNKS_PER_JOB: Final = 4
"""Chunks that the driver takes with one job from Spark's cache, because each job scans the whole cache."""
_COLLECT_BYTES: Final = 384 * 1024 * 1024
"""Roughly the most packed rows that the driver collects without a copy in Spark's cache."""
_HEAP_SHARE: Final = 10
"""Collected rows may take up this share of Java's heap, which briefly holds three copies."""
_SPREAD_BY: Final = (c.PANE_START, c.OFFSET, *KEYS, c.RECORD_POSITION)
"""Columns in which rows differ, if they have them; fewer columns are hashed faster."""
_TOO_LARGE: Final = "spark.driver.maxResultSize"
"""The setting that Spark names if the results of tasks exceed it."""
_POSITIONS_PER_BLOCK: Final = 16
"""Record positions that are read together: a record may have a megabyte."""


class BlockRange(NamedTuple):
    """Blocks of record positions, from `start` to before `end`."""

    start: int
    end: int


def driver_room(heap_bytes: int) -> int:
    """Returns the bytes of packed rows that a driver may collect whose Java heap has at most `heap_bytes`."""
    return min(_COLLECT_BYTES, heap_bytes // _HEAP_SHARE)


def collect(folded: DataFrame) -> pa.Table | None:
    """Returns all rows of a fold; None if they are more than Spark sends to a driver."""
    try:
        return folded.toArrow()
    except Exception as error:
        if _TOO_LARGE in str(error):
            return None
        raise


def slices(rows: pa.Table, chunk_bytes: int) -> Iterator[pa.Table]:
    """Yields rows that the driver has in slices of at most about `chunk_bytes`."""
    count = rows.nbytes // chunk_bytes + 1
    length = len(rows) // count + 1
    for start in range(0, len(rows), length):
        yield rows.slice(start, length)


def spark_chunks(folded: DataFrame, size_bytes: int, chunk_bytes: int, *others: Column) -> Iterator[pa.Table]:
    """Yields the rows of a fold, about `size_bytes` of them, in chunks of about `chunk_bytes`.

    `others` are columns in which rows differ beside those with a known name.
    """
    jobs = _job_count(size_bytes, chunk_bytes)
    spread_by = [name for name in folded.columns if name in _SPREAD_BY or name.startswith((DIMENSION, TEXT_OF))]
    job_of_row = F.pmod(F.xxhash64(*spread_by, *others), F.lit(jobs))
    for job in range(jobs):
        yield from slices((folded if jobs == 1 else folded.where(job_of_row == job)).toArrow(), chunk_bytes)


def rejected_chunks(rejected: DataFrame, chunk_bytes: int) -> Iterator[pa.Table]:
    """Yields the rejected records that a fold kept apart, in chunks of a few times `chunk_bytes`.

    Spark's cache has the lowest and the highest position of every few thousand rows, so a job reads only the rows near
    its positions.
    """
    block = F.expr(f"{POSITION} div {_POSITIONS_PER_BLOCK}").alias("block")
    sizes = rejected.groupBy(block).agg(F.sum(bytes_of([c.KEY, c.VALUE])).alias("size")).toArrow().sort_by("block")
    position = F.col(POSITION)
    for ranges in block_ranges(sizes["block"].to_numpy(), sizes["size"].to_numpy(), chunk_bytes):
        is_inside = [
            (position >= start * _POSITIONS_PER_BLOCK) & (position < end * _POSITIONS_PER_BLOCK)
            for start, end in ranges
        ]
        yield rejected.where(reduce(operator.or_, is_inside)).toArrow()


def block_ranges(blocks: Longs, sizes: Longs, chunk_bytes: int) -> Iterator[list[BlockRange]]:
    """Yields for each job the ranges of blocks to read, given all blocks in order and their sizes in bytes.

    A job reads a range of every partition, so that all tasks work for it. Its rows are written at once, because dead
    letters are no larger than their records.
    """
    jobs = _job_count(int(sizes.sum()), chunk_bytes)
    job_of_block = np.concatenate(
        [(np.cumsum(part) - part) * jobs // part.sum() for part in _by_partition(blocks, sizes)]
    )
    for job in np.unique(job_of_block):
        own = blocks[job_of_block == job]
        yield [BlockRange(int(part[0]), int(part[-1]) + 1) for part in _by_partition(own, own)]


def _by_partition(blocks: Longs, values: Longs) -> list[Longs]:
    """Splits `values`, one per block, by the Kafka partition of the block."""
    _, starts = np.unique(blocks // (PARTITION_STEP // _POSITIONS_PER_BLOCK), return_index=True)
    return np.split(values, starts[1:])


def _job_count(size_bytes: int, chunk_bytes: int) -> int:
    return size_bytes // (_CHUNKS_PER_JOB * chunk_bytes) + 1
