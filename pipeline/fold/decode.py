"""Kafka records to events: the Confluent frame is checked and only the needed Avro fields are decoded.

Source of the frame: Confluent, "Wire format" (byte 0, big-endian schema id in four bytes, Avro binary).
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from pipeline import columns as c
from pipeline.event_time.checks import Check
from pipeline.fold.mapping import MappedReader
from pipeline.fold.projection import OURS, mentioned, passed_over, projection
from schemas.fields import EventSchemas

FRAME_BYTES: Final = 5
MAGIC_BYTE: Final = b"\0"
_GROUP: Final = 128
"""Values of seven bits; a byte from there on says that another one follows."""
_LOOKED_AT: Final = 1 + _GROUP // 2 + 2
"""Bytes of a short text, with its length and what may be a choice behind it."""
_UNKNOWN_AT_ONCE: Final = 20
"""So many unknown schemas are told of."""
EVENT: Final = "event"
"""The column of what is decoded, by which `Reader.columns` name it."""


@dataclass(frozen=True, slots=True)
class Reader:
    """How the events of some schemas are read, in two steps so that each record is decoded once."""

    decoded: Column
    """Of a Kafka row, as column `event`: null where the frame names no known schema, and a struct of nulls where the
    bytes are not Avro of that schema."""
    decoded_of_noise: Column
    """The same, which takes half as long where most records are noise, and longer where they are good."""
    columns: Sequence[Column]
    """Of that: event_type, user_id, event_time in milliseconds, and the fields that were asked for."""
    names: Sequence[str]
    """The names of these."""


def reader(schemas: EventSchemas, sql: str = "") -> Reader:
    """The reader of the fields that every event needs, and of those that `sql` names.

    Raises SetUpError where a schema lacks what is needed.
    """
    texts = schemas.texts
    if schemas.fields.are_default:
        further = mentioned(sql, texts.values())
        names = [*OURS, *(field["name"] for field in further)]
        beside = [*further, *passed_over(texts.values(), names)]
        projections = {number: projection(text, beside) for number, text in texts.items()}
        columns = [F.col(f"{EVENT}.{name}") for name in names]
    else:
        mapped = MappedReader(schemas, sql)
        projections, columns, names = mapped.projections, mapped.columns(EVENT), mapped.names
    decoded, of_noise = (_decoded(texts, projections, looks_first=looks_first) for looks_first in (False, True))
    return Reader(decoded, of_noise, columns, names)


def has_frame() -> Column:
    """Whether a value begins with the magic byte and has room for a schema id."""
    return (F.length(c.VALUE) >= FRAME_BYTES) & (F.substring(c.VALUE, 1, 1) == F.lit(MAGIC_BYTE))


def has_known_schema(schemas: Mapping[int, str]) -> Column:
    """Whether a value's frame names one of the schemas."""
    return F.substring(c.VALUE, 1, FRAME_BYTES).isin([_prefix(number) for number in schemas])


def unknown_schemas(folded: DataFrame, but: Collection[int]) -> list[int]:
    """Some of the ids of a fold's records that no schema has, other than those given; none where there are no more."""
    number = F.conv(F.hex(F.substring(c.VALUE, 2, FRAME_BYTES - 1)), 16, 10).cast("long").alias("number")
    named = folded.where((F.col(c.CHECK) == int(Check.SCHEMA_ID)) & (F.col(c.GROUPING) == 0)).select(number)
    unknown = named.where(~F.col("number").isin([*but])).distinct().limit(_UNKNOWN_AT_ONCE)
    return [row.number for row in unknown.collect()]


def _decoded(texts: Mapping[int, str], projections: Mapping[int, str], *, looks_first: bool) -> Column:
    body = F.expr(f"substring({c.VALUE}, {FRAME_BYTES + 1})")
    cases: Any = F
    for number, text in texts.items():
        read = from_avro(body, text, {"mode": "PERMISSIVE", "avroSchema": projections[number]})
        framed = F.startswith(F.col(c.VALUE), F.lit(_prefix(number)))
        if looks_first:
            framed &= _may_be_event(_prefix(number), [field["type"] for field in json.loads(text)["fields"]])
        cases = cases.when(framed, read)
    event: Column = cases.alias(EVENT)
    return event


def _may_be_event(prefix: bytes, types: Sequence[Any]) -> Column:
    """Whether the bytes behind a frame may be a record of fields of these types; looks at a text with which it begins.

    Avro makes room for a text before it finds out that the record ends, which for noise is half a megabyte for every
    sixteenth record, and each failure of it is an exception. A number is zigzag in groups of seven bits; what is
    written with more groups than it needs is left to Avro. A good record pays for this, too, for Spark reckons the
    bytes up front.
    """
    if types[0] != "string":
        return F.lit(True)  # noqa: FBT003
    first, second, third = (F.ascii(_latin(FRAME_BYTES + place, 1)) for place in (1, 2, 3))  # 0 behind the end
    low = first % _GROUP + second % _GROUP * _GROUP
    length = F.when(second < _GROUP, low).when(third < _GROUP, low + third * _GROUP * _GROUP)
    is_long = F.col(c.VALUE) >= F.lit(prefix + b"\x80")
    is_too_long = is_long & F.coalesce(length / 2 > F.length(c.VALUE), F.lit(False))  # noqa: FBT003
    return _latin(FRAME_BYTES + 1, _LOOKED_AT).rlike(_beginning(*types[1:2])) & ~is_too_long


def _beginning(second: Any = None) -> str:
    """A regular expression of a text's length, even as none is below zero, and of a choice behind a short one."""
    short = "|".join(rf"\x{2 * length:02x}.{{{length}}}" for length in range(_GROUP // 2))
    choice = ""
    if isinstance(second, dict) and second["type"] == "enum" and len(second["symbols"]) <= _GROUP // 2:
        symbols = "".join(rf"\x{2 * number:02x}" for number, _ in enumerate(second["symbols"]))
        choice = rf"(?:[{symbols}]|[\x80-\xff][\x00\x80-\xff])"
    long = "".join(rf"\x{length:02x}" for length in range(_GROUP, 2 * _GROUP, 2))
    return rf"(?s)\A(?:(?:{short}){choice}|[{long}])"


def _latin(place: int, number: int) -> Column:
    """So many bytes from a place of a value on, counted from one, as characters of the same numbers."""
    return F.decode(F.substring(c.VALUE, place, number), "ISO-8859-1")


def _prefix(schema_id: int) -> bytes:
    return MAGIC_BYTE + schema_id.to_bytes(FRAME_BYTES - 1, "big")
