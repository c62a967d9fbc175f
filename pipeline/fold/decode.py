"""Kafka records to events: the Confluent frame is checked and only the needed Avro fields are decoded.

Source of the frame: Confluent, "Wire format" (byte 0, big-endian schema id in four bytes, Avro binary).
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from pipeline import columns as c
from pipeline.event_time.checks import Check
from pipeline.fold.mapping import MappedProjection
from pipeline.fold.projection import OwnProjection
from schemas.fields import EventSchemas

FRAME_BYTES: Final = 5
MAGIC_BYTE: Final = b"\0"
_GROUP: Final = 128
"""Values of seven bits; a byte of this value or more is followed by another byte of the number."""
_PATTERN_BYTES: Final = 1 + _GROUP // 2 + 2
"""Bytes that the pattern may read: the length of a short text, the text and an enum's index."""
_MOST_UNKNOWN: Final = 20
"""The most unknown schema ids that are returned."""
EVENT: Final = "event"
"""The column of the decoded event, which `Reader.columns` read."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Columns that read events in two steps, so that each record is decoded once."""

    decoded: Column
    """Column `event` of a Kafka row: null if the frame names no known schema, a struct of nulls if the bytes are not
    Avro of that schema."""
    decoded_of_noise: Column
    """Like `decoded`, but takes half as long if most records are noise, and longer if they are events."""
    columns: Sequence[Column]
    """Fields of `event`: event_type, user_id, event_time in milliseconds, and further ones."""
    names: Sequence[str]
    """The names of `columns`."""
    same_as_user: Collection[str]
    """Names among `names` that are the user under another name."""


def projection_of(schemas: EventSchemas, sql: str = "") -> OwnProjection | MappedProjection:
    """Returns how events are read: the fields that every event needs, and those that `sql` names.

    It needs no Spark. Raises SetUpError if a schema lacks a needed field, or Spark cannot read a field.
    """
    return (OwnProjection if schemas.fields.are_default else MappedProjection)(schemas, sql)


def reader(schemas: EventSchemas, sql: str = "") -> Reader:
    """Returns the reader of what `projection_of` returns, which needs Spark. Raises SetUpError like it."""
    read = projection_of(schemas, sql)
    decoded, of_noise = (_decoded(read.writers, read.reader_schema, screens=screens) for screens in (False, True))
    return Reader(decoded, of_noise, read.columns(EVENT), read.names, read.same_as_user())


def has_frame() -> Column:
    """Condition: the value starts with the magic byte and is long enough for a schema id."""
    return (F.length(c.VALUE) >= FRAME_BYTES) & (F.substring(c.VALUE, 1, 1) == F.lit(MAGIC_BYTE))


def has_known_schema(schemas: Mapping[int, str]) -> Column:
    """Condition: the frame of the value names one of the schemas."""
    return F.substring(c.VALUE, 1, FRAME_BYTES).isin([_prefix(schema_id) for schema_id in schemas])


def unknown_schema_ids(rejected: pa.Table, excluded: Collection[int]) -> list[int]:
    """Returns up to 20 unknown schema ids that records name, except those in `excluded`; empty if no other is left."""
    values = rejected.filter(pc.field(c.CHECK) == int(Check.SCHEMA_ID))[c.VALUE]
    # Noise may name millions of ids: this many contain enough that are not excluded.
    prefixes = pc.unique(pc.binary_slice(values, 1, FRAME_BYTES))[: len(excluded) + _MOST_UNKNOWN]
    ids = (int.from_bytes(prefix, "big") for prefix in prefixes.to_pylist())
    return [schema_id for schema_id in ids if schema_id not in excluded][:_MOST_UNKNOWN]


def unknown_schema_ids_in_spark(folded: DataFrame, excluded: Collection[int]) -> list[int]:
    """Returns `unknown_schema_ids` of rows that Spark has, by a Spark job."""
    schema_id = F.conv(F.hex(F.substring(c.VALUE, 2, FRAME_BYTES - 1)), 16, 10).cast("long").alias("schema_id")
    ids = folded.where((F.col(c.CHECK) == int(Check.SCHEMA_ID)) & (F.col(c.GROUPING) == 0)).select(schema_id)
    unknown = ids.where(~F.col("schema_id").isin([*excluded])).distinct().limit(_MOST_UNKNOWN)
    return [row.schema_id for row in unknown.collect()]


def _decoded(texts: Mapping[int, str], reader_schema: str, *, screens: bool) -> Column:
    """Returns the decoded event; `screens` keeps most of what is not Avro away from Spark's decoder."""
    body = F.expr(f"substring({c.VALUE}, {FRAME_BYTES + 1})")
    cases: Any = F
    for schema_id, text in texts.items():
        decoded = from_avro(body, text, {"mode": "PERMISSIVE", "avroSchema": reader_schema})
        is_framed = F.startswith(F.col(c.VALUE), F.lit(_prefix(schema_id)))
        if screens:
            is_framed &= _may_be_event(_prefix(schema_id), [field["type"] for field in json.loads(text)["fields"]])
        cases = cases.when(is_framed, decoded)
    event: Column = cases.alias(EVENT)
    return event


def _may_be_event(prefix: bytes, types: Sequence[Any]) -> Column:
    """Condition: the bytes after the frame `prefix` may be a record of fields of `types`; checks its first text only.

    Avro allocates a text before it finds that the record is too short: for noise, half a megabyte for every 16th
    record; each failure is an exception. Avro writes a number as zigzag in groups of seven bits; a number with more
    groups than it needs is left to Avro. Valid records are slower too, because Spark computes the bytes first.
    """
    if types[0] != "string":
        return F.lit(True)  # noqa: FBT003
    first, second, third = (F.ascii(_latin(FRAME_BYTES + index, 1)) for index in (1, 2, 3))  # 0 after the end
    low = first % _GROUP + second % _GROUP * _GROUP
    length = F.when(second < _GROUP, low).when(third < _GROUP, low + third * _GROUP * _GROUP)
    is_long = F.col(c.VALUE) >= F.lit(prefix + b"\x80")
    is_too_long = is_long & F.coalesce(length / 2 > F.length(c.VALUE), F.lit(False))  # noqa: FBT003
    return _latin(FRAME_BYTES + 1, _PATTERN_BYTES).rlike(_start_pattern(*types[1:2])) & ~is_too_long


def _start_pattern(second: Any = None) -> str:
    """Returns a pattern for a text's length, which is even because it is not negative, and an enum after a short text.

    `second` is the type of the field after the text.
    """
    short = "|".join(rf"\x{2 * length:02x}.{{{length}}}" for length in range(_GROUP // 2))
    enum = ""
    if isinstance(second, dict) and second["type"] == "enum" and len(second["symbols"]) <= _GROUP // 2:
        symbols = "".join(rf"\x{2 * index:02x}" for index, _ in enumerate(second["symbols"]))
        enum = rf"(?:[{symbols}]|[\x80-\xff][\x00\x80-\xff])"
    long = "".join(rf"\x{length:02x}" for length in range(_GROUP, 2 * _GROUP, 2))
    return rf"(?s)\A(?:(?:{short}){enum}|[{long}])"


def _latin(position: int, count: int) -> Column:
    """Returns `count` bytes of the value from the 1-based `position`, as characters with these codes."""
    return F.decode(F.substring(c.VALUE, position, count), "ISO-8859-1")


def _prefix(schema_id: int) -> bytes:
    return MAGIC_BYTE + schema_id.to_bytes(FRAME_BYTES - 1, "big")
