"""What the driver takes of a fold: at once, or in as many pieces as it has room for."""

import operator
from collections.abc import Iterator
from functools import reduce
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipeline import columns as c
from pipeline.event_time.event_ids import Longs
from pipeline.fold.duplicates import PARTITION_STEP
from pipeline.fold.grouping_sets import KEYS
from pipeline.fold.rejected_records import POSITION
from pipeline.fold.statistics import bytes_of

CHUNK_BYTES: Final = 32 * 1024 * 1024
"""Roughly the most that the driver writes at once; rows of tables are several times larger."""
_CHUNKS_TAKEN: Final = 4
"""So many the driver takes with one job of rows that Spark keeps, for each job looks at all of them."""
_AT_ONCE_BYTES: Final = 384 * 1024 * 1024
"""Roughly the most packed rows that the driver takes of a fold of which Spark keeps nothing."""
_OF_HEAP: Final = 10
"""And the part of Java's heap that they may be, for a moment they are there three times."""
_SPREAD_BY: Final = (c.PANE_START, c.OFFSET, *KEYS, c.RECORD_POSITION)
"""What rows differ by, as far as they have it; the less there is to hash, the faster."""
_TOO_MUCH: Final = "spark.driver.maxResultSize"
"""What Spark names where tasks have more for the driver than that."""
_TOGETHER: Final = 16
"""So many offsets are in a piece together: a record may have a megabyte."""


def driver_room(heap_bytes: int) -> int:
    """Bytes of packed rows that may be taken at once, beside a driver's heap of at most so many."""
    return min(_AT_ONCE_BYTES, heap_bytes // _OF_HEAP)


def collect(folded: DataFrame) -> pa.Table | None:
    """All rows of a fold; None where they are more than the driver may be sent."""
    try:
        return folded.toArrow()
    except Exception as error:
        if _TOO_MUCH in str(error):
            return None
        raise


def slices(taken: pa.Table) -> Iterator[pa.Table]:
    """The rows of a fold that the driver has, in chunks."""
    number = taken.nbytes // CHUNK_BYTES + 1
    rows = len(taken) // number + 1
    for start in range(0, len(taken), rows):
        yield taken.slice(start, rows)


def spark_chunks(folded: DataFrame, size: int) -> Iterator[pa.Table]:
    """The rows of a fold, about `size` bytes of them, in chunks."""
    number = _pieces_of(size)
    piece = F.pmod(F.xxhash64(*[name for name in _SPREAD_BY if name in folded.columns]), F.lit(number))
    for turn in range(number):
        yield from slices((folded if number == 1 else folded.where(piece == turn)).toArrow())


def rejected_chunks(rejected: DataFrame) -> Iterator[pa.Table]:
    """The rejected records that were kept apart.

    Of every few thousand rows that it keeps Spark knows the lowest and the highest position, so that of all that is
    not in a piece it reads nothing.
    """
    places = F.expr(f"{POSITION} div {_TOGETHER}").alias("place")
    found = rejected.groupBy(places).agg(F.sum(bytes_of([c.KEY, c.VALUE])).alias("size")).toArrow().sort_by("place")
    at = F.col(POSITION)
    for ranges in position_ranges(found["place"].to_numpy(), found["size"].to_numpy()):
        inside = [(at >= start * _TOGETHER) & (at < end * _TOGETHER) for start, end in ranges]
        yield rejected.where(reduce(operator.or_, inside)).toArrow()


def position_ranges(places: Longs, sizes: Longs) -> Iterator[list[tuple[int, int]]]:
    """Pieces of what is taken at once, for letters are as large as their records, as ranges [start, end) of places.

    `places` are in order. Each piece has a part of every partition, so that all tasks work for it.
    """
    number = _pieces_of(int(sizes.sum()))
    pieces = np.concatenate([(np.cumsum(part) - part) * number // part.sum() for part in _by_partition(places, sizes)])
    for turn in np.unique(pieces):
        mine = places[pieces == turn]
        yield [(int(part[0]), int(part[-1]) + 1) for part in _by_partition(mine, mine)]


def _by_partition(places: Longs, values: Longs) -> list[Longs]:
    _, starts = np.unique(places // (PARTITION_STEP // _TOGETHER), return_index=True)
    return np.split(values, starts[1:])


def _pieces_of(size: int) -> int:
    return size // (_CHUNKS_TAKEN * CHUNK_BYTES) + 1
