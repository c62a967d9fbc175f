"""Rejected records kept apart, where a batch has many: rows as they were judged, and no group of the fold for each.

A group with the bytes of a record is made, sent and looked up twice; that is the dearest of all ways through the fold,
and the cheapest where there are few.
"""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F

from pipeline import columns as c
from pipeline.event_time.checks import Check
from pipeline.event_time.event_ids import Longs

OF_REJECTED: Final = (c.OFFSET, c.KEY, c.VALUE, c.KAFKA_TIMESTAMP, c.EVENT_TIME, "user")
"""What is kept of a rejected record."""
NOT_REJECTED: Final = (int(Check.PASSED), int(Check.DUPLICATE))
"""The checks of records that are no dead letters."""
POSITION: Final = "rejected_position"
"""The column of the record position, by which pieces of what is kept are found; null where nothing is."""
REJECTED: Final = "rejected"
"""The column of what is kept of a record, null where nothing is."""


def of_rejected(place: str) -> list[Column]:
    """What is kept of a record, as columns; `place` is where it is."""
    return [F.expr(f"{place}.{name}").alias(name) for name in OF_REJECTED]


def boxed() -> Column:
    """What is kept of a record as a list of one; of a list that is null nothing is sent, of a struct its nulls are."""
    return F.when(F.col(REJECTED).isNotNull(), F.array(REJECTED)).alias(REJECTED)


def unboxed(rows: pa.Table) -> pa.Table:
    """Rows that the driver has, with what is kept of a record in columns of its own."""
    kept, places = _kept(rows)
    taken = kept.take(pa.array(places, mask=places < 0))
    others = {name: rows[name] for name in rows.column_names if name != REJECTED}
    return pa.table(others | {name: taken.field(name) for name in OF_REJECTED})


def bytes_kept(rows: pa.Table) -> pa.Array:
    """Bytes of key and value that are kept with each of the rows that the driver has."""
    kept, places = _kept(rows)
    lengths = (pc.fill_null(pc.binary_length(kept.field(name)), 0).to_numpy() for name in (c.KEY, c.VALUE))
    # What has nothing is in the last place.
    return pa.array(np.append(sum(lengths), 0).astype(np.int64)[places])


def _kept(rows: pa.Table) -> tuple[pa.StructArray, Longs]:
    """What is kept, and for each row its place there; -1 where there is nothing."""
    boxes = rows[REJECTED].combine_chunks()
    places = np.full(len(rows), -1)
    places[boxes.is_valid().to_numpy(zero_copy_only=False)] = np.arange(len(boxes) - boxes.null_count)
    return boxes.flatten(), places
