"""The frame of a value: which schema a record is written with.

Sources: Confluent, "Wire format" (byte 0, big-endian schema id in four bytes, Avro binary); Apicurio Registry,
`Default8ByteIdHandler` (byte 0, id in eight bytes). No registry has an id 0, so the first four bytes distinguish them.
"""

from collections.abc import Collection, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline import columns as c
from pipeline.event_time.checks import Check
from schemas.fields import EventSchemas

ID_BYTES: Final = 4
"""The bytes of an id; in the longer form, those that may differ from 0."""
_SHORT: Final = b"\0"
_LONG: Final = b"\0" * (1 + ID_BYTES)
FRAME_BYTES: Final = len(_SHORT) + ID_BYTES
_LONG_FRAME_BYTES: Final = len(_LONG) + ID_BYTES
_MOST_UNKNOWN: Final = 20
"""At most this many unknown schema ids are returned."""


def id_bytes(schema_id: int) -> bytes:
    """Returns the bytes of a schema id."""
    return schema_id.to_bytes(ID_BYTES, "big")


def starts(schemas: EventSchemas) -> Sequence[bytes]:
    """Returns what may precede the bytes of an id in a frame."""
    return (_SHORT, _LONG) if schemas.has_long_ids else (_SHORT,)


def frame(schemas: EventSchemas) -> Column:
    """Returns the bytes of a value's frame."""
    short, long = (F.substring(c.VALUE, 1, len(start) + ID_BYTES) for start in (_SHORT, _LONG))
    return F.when(F.startswith(F.col(c.VALUE), F.lit(_LONG)), long).otherwise(short) if schemas.has_long_ids else short


def has_frame() -> Column:
    """Condition: the value starts with byte 0 and is long enough for a schema id."""
    return (F.length(c.VALUE) >= FRAME_BYTES) & (F.substring(c.VALUE, 1, 1) == F.lit(_SHORT))


def has_known_schema(schemas: EventSchemas) -> Column:
    """Condition: the frame of the value names one of the schemas."""
    return frame(schemas).isin(
        [start + id_bytes(schema_id) for start in starts(schemas) for schema_id in schemas.texts]
    )


def unknown_schema_ids(rejected: pa.Table, excluded: Collection[int]) -> list[int]:
    """Returns up to 20 unknown schema ids that records name, except those in `excluded`; empty if no other is left."""
    values = rejected.filter(pc.field(c.CHECK) == int(Check.SCHEMA_ID))[c.VALUE]
    has_long = pc.greater_equal(pc.binary_length(values), _LONG_FRAME_BYTES)
    is_long = pc.and_(pc.starts_with(values, pattern=_LONG), has_long)
    ids = pc.if_else(
        is_long, *(pc.binary_slice(values, len(start), len(start) + ID_BYTES) for start in (_LONG, _SHORT))
    )
    # Noise may name millions of ids: this many contain enough that are not excluded.
    some_ids = pc.unique(ids)[: len(excluded) + _MOST_UNKNOWN]
    numbers = (int.from_bytes(each, "big") for each in some_ids.to_pylist())
    return [schema_id for schema_id in numbers if schema_id not in excluded][:_MOST_UNKNOWN]


def unknown_schema_ids_in_spark(folded: DataFrame, excluded: Collection[int]) -> list[int]:
    """Returns `unknown_schema_ids` of rows that Spark has, by a Spark job."""
    short, long = (F.substring(c.VALUE, len(start) + 1, ID_BYTES) for start in (_SHORT, _LONG))
    is_long = F.startswith(F.col(c.VALUE), F.lit(_LONG)) & (F.length(c.VALUE) >= _LONG_FRAME_BYTES)
    id_column = F.when(is_long, long).otherwise(short)
    schema_id = F.conv(F.hex(id_column), 16, 10).cast("long").alias("schema_id")
    ids = folded.where((F.col(c.CHECK) == int(Check.SCHEMA_ID)) & (F.col(c.GROUPING) == 0)).select(schema_id)
    unknown = ids.where(~F.col("schema_id").isin([*excluded])).distinct().limit(_MOST_UNKNOWN)
    return [row.schema_id for row in unknown.collect()]
