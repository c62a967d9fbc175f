"""The frame of a value: which schema a record is written with.

Sources: Confluent, "Wire format" (byte 0, big-endian schema id in four bytes, Avro binary; or byte 1 and a GUID, mostly
in a header, which the connector puts before the value); Apicurio Registry, `Default8ByteIdHandler` (byte 0, id in
eight bytes). No registry has an id 0, so the first four bytes distinguish them.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.schemas.fields import GUID_BYTES, GUID_HEADER, EventSchemas, Guid

ID_BYTES: Final = 4
"""The bytes of an id; in the longer form, those that may differ from 0."""
_SHORT: Final = b"\0"
_LONG: Final = b"\0" * (1 + ID_BYTES)
_GUID: Final = b"\1"
FRAME_BYTES: Final = len(_SHORT) + ID_BYTES
_LONG_FRAME_BYTES: Final = len(_LONG) + ID_BYTES
_GUID_FRAME_BYTES: Final = len(_GUID) + GUID_BYTES
_MOST_IDS: Final = 20
"""At most this many schema ids are returned."""


def id_bytes(schema_id: int) -> bytes:
    """Returns the bytes of a schema id."""
    return schema_id.to_bytes(GUID_BYTES if isinstance(schema_id, Guid) else ID_BYTES, "big")


def _id_of(of_bytes: bytes) -> int:
    number = int.from_bytes(of_bytes, "big")
    return Guid(number) if len(of_bytes) == GUID_BYTES else number


def _starts(schema_id: int, schemas: EventSchemas) -> Sequence[bytes]:
    """Returns what may precede the bytes of an id in a frame."""
    if isinstance(schema_id, Guid):
        return (_GUID,)
    return (_SHORT, _LONG) if schemas.has_long_ids else (_SHORT,)


def frame(schemas: EventSchemas) -> Column:
    """Returns the bytes of a value's frame."""
    short, long, guid = (F.substring(c.VALUE, 1, size) for size in (FRAME_BYTES, _LONG_FRAME_BYTES, _GUID_FRAME_BYTES))
    column = F.when(_starts_with(_GUID), guid)
    return (column.when(_starts_with(_LONG), long) if schemas.has_long_ids else column).otherwise(short)


def has_frame(schemas: EventSchemas) -> Column:
    """Condition: the value starts with byte 0 and is long enough for a schema id, or with byte 1 and a GUID."""
    has_id = _starts_with(_SHORT) & (F.length(c.VALUE) >= FRAME_BYTES)
    has_guid = _starts_with(_GUID) & (F.length(c.VALUE) >= _GUID_FRAME_BYTES)
    return has_id | has_guid if GUID_HEADER in schemas.id_headers else has_id


def has_known_schema(schemas: EventSchemas) -> Column:
    """Condition: the frame of the value names one of the schemas."""
    return frame(schemas).isin(
        [start + id_bytes(schema_id) for schema_id in schemas.texts for start in _starts(schema_id, schemas)]
    )


def schema_ids(values: pa.ChunkedArray, excluded: Collection[int]) -> list[int]:
    """Returns up to 20 schema ids that `values` name, except those in `excluded`; empty if no other is left."""
    # Noise may name millions of ids: this many contain enough that are not excluded.
    some_ids = pc.unique(_ids_in(values))[: len(excluded) + _MOST_IDS]
    return [each for each in map(_id_of, some_ids.to_pylist()) if each not in excluded][:_MOST_IDS]


def reasons_by_schema(values: pa.ChunkedArray, reasons: Mapping[int, str]) -> pa.ChunkedArray:
    """Returns for each value the text in `reasons` of the schema id that it names, else null."""
    ids = pa.array([*map(id_bytes, reasons)], pa.binary())
    texts = pa.array([f"its schema cannot be used: {reason}" for reason in reasons.values()], pa.string())
    return pc.take(texts, pc.index_in(_ids_in(values), value_set=ids))


def _ids_in(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns the bytes of the schema id of each value."""
    has_long = pc.greater_equal(pc.binary_length(values), _LONG_FRAME_BYTES)
    is_long = pc.and_(pc.starts_with(values, pattern=_LONG), has_long)
    long, short = (pc.binary_slice(values, len(start), len(start) + ID_BYTES) for start in (_LONG, _SHORT))
    guids = pc.binary_slice(values, len(_GUID), _GUID_FRAME_BYTES)
    return pc.if_else(pc.starts_with(values, pattern=_GUID), guids, pc.if_else(is_long, long, short))


def schema_ids_in_spark(rows: DataFrame, excluded: Collection[int]) -> list[int]:
    """Returns `schema_ids` of the column `value` of rows that Spark has, by a Spark job."""
    short, long = (F.substring(c.VALUE, len(start) + 1, ID_BYTES) for start in (_SHORT, _LONG))
    guid = F.substring(c.VALUE, len(_GUID) + 1, GUID_BYTES)
    is_long = _starts_with(_LONG) & (F.length(c.VALUE) >= _LONG_FRAME_BYTES)
    schema_id = F.when(_starts_with(_GUID), guid).when(is_long, long).otherwise(short).alias("schema_id")
    ids = rows.select(schema_id).where(~F.col("schema_id").isin([*map(id_bytes, excluded)]))
    return [_id_of(bytes(row.schema_id)) for row in ids.distinct().limit(_MOST_IDS).collect()]


def _starts_with(start: bytes) -> Column:
    return F.startswith(F.col(c.VALUE), F.lit(start))
