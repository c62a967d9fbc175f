"""Fields of rejected records: one struct in Spark's rows, which a fold can keep apart if a batch has many.

A row with the bytes of a record is cached or sent with the groups. That is the cheapest way through a fold if few
records are rejected, and needs much memory if many are.
"""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.event_time.event_ids import Longs

USER: Final = "user"
STORED_FIELDS: Final = (c.OFFSET, c.KEY, c.VALUE, c.KAFKA_TIMESTAMP, c.EVENT_TIME)
_FIELDS: Final = (*STORED_FIELDS, USER)
NOT_REJECTED: Final = tuple(map(int, (Check.PASSED, Check.DUPLICATE, Check.OTHER_KIND, Check.TOMBSTONE)))
"""The checks of records that are not dead letters."""
POSITION: Final = "rejected_position"
"""The column of the record position, by which rejected records are read range by range; null for counted records."""
REJECTED: Final = "rejected"
"""The column of the struct of fields, null for counted records."""


def field_columns(struct: str) -> list[Column]:
    """Returns the fields of the struct that the SQL expression `struct` gives, as columns."""
    return [F.expr(f"{struct}.{name}").alias(name) for name in _FIELDS]


def boxed() -> Column:
    """Returns the struct in a list of one: Spark sends nothing for a null list, but all fields of a null struct."""
    return F.when(F.col(REJECTED).isNotNull(), F.array(REJECTED)).alias(REJECTED)


def unboxed(rows: pa.Table) -> pa.Table:
    """Returns the driver's rows with the fields of rejected records as columns of their own."""
    structs, indices = _structs(rows)
    fields = structs.take(pa.array(indices, mask=indices < 0))
    others = {name: rows[name] for name in rows.column_names if name != REJECTED}
    return pa.table(others | {name: fields.field(name) for name in _FIELDS})


def stored_byte_counts(rows: pa.Table) -> pa.Array:
    """Returns for each of the driver's rows the bytes of key and value that it has."""
    structs, indices = _structs(rows)
    lengths = (pc.fill_null(pc.binary_length(structs.field(name)), 0).to_numpy() for name in (c.KEY, c.VALUE))
    # Index -1 reads the 0 at the end.
    return pa.array(np.append(sum(lengths), 0).astype(np.int64)[indices])


def _structs(rows: pa.Table) -> tuple[pa.StructArray, Longs]:
    """Returns the structs of rejected records, and for each row the index of its struct; -1 without a struct."""
    boxes = rows[REJECTED].combine_chunks()
    indices = np.full(len(rows), -1)
    indices[boxes.is_valid().to_numpy(zero_copy_only=False)] = np.arange(len(boxes) - boxes.null_count)
    return boxes.flatten(), indices
