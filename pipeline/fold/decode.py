"""Kafka records to events: the frame of a value is checked and only the needed Avro fields are decoded."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from pipeline import columns as c
from pipeline.fold.grouping_sets import KEYS
from pipeline.fold.mapping import MappedProjection, has_page
from pipeline.fold.projection import OwnProjection
from pipeline.fold.wire_format import ID_BYTES, id_bytes, starts
from schemas.fields import EventSchemas

_GROUP: Final = 128
"""Values of seven bits; a byte of this value or more is followed by another byte of the number."""
_PATTERN_BYTES: Final = 1 + _GROUP // 2 + 2
"""Bytes that the pattern may read: the length of a short text, the text and an enum's index."""
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


def stored_keys(schemas: EventSchemas) -> list[str]:
    """Returns the keys of an event that are read for later corrections: all that every version has."""
    return [key for key in KEYS if key != c.PAGE_URL or has_page(schemas)]


def reader(schemas: EventSchemas, sql: str = "") -> Reader:
    """Returns the reader of what `projection_of` returns, which needs Spark. Raises SetUpError like it."""
    read = projection_of(schemas, sql)
    decoded, of_noise = (_decoded(read, starts(schemas), screens=screens) for screens in (False, True))
    return Reader(decoded, of_noise, read.columns(EVENT), read.names, read.same_as_user())


def _decoded(read: OwnProjection | MappedProjection, frame_starts: Sequence[bytes], *, screens: bool) -> Column:
    """Returns the decoded event; `frame_starts` precede an id, `screens` keeps most noise from Spark's decoder."""
    cases: Any = F
    for start in frame_starts:
        body = F.expr(f"substring({c.VALUE}, {len(start) + ID_BYTES + 1})")
        for schema_id, text in read.writers.items():
            frame = start + id_bytes(schema_id)
            is_framed = F.startswith(F.col(c.VALUE), F.lit(frame))
            if screens:
                is_framed &= _may_be_event(frame, [field["type"] for field in json.loads(text)["fields"]])
            options = {"mode": "PERMISSIVE", "avroSchema": read.reader_schema}
            cases = cases.when(is_framed, from_avro(body, text, options))
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
    first, second, third = (F.ascii(_latin(len(prefix) + index, 1)) for index in (1, 2, 3))  # 0 after the end
    low = first % _GROUP + second % _GROUP * _GROUP
    length = F.when(second < _GROUP, low).when(third < _GROUP, low + third * _GROUP * _GROUP)
    is_long = F.col(c.VALUE) >= F.lit(prefix + b"\x80")
    is_too_long = is_long & F.coalesce(length / 2 > F.length(c.VALUE), F.lit(False))  # noqa: FBT003
    return _latin(len(prefix) + 1, _PATTERN_BYTES).rlike(_start_pattern(*types[1:2])) & ~is_too_long


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
