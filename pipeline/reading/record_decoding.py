"""The value of a record as far as it can be read: its frame, its Avro fields up to the one that is wrong, its bytes."""

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import fastavro

FRAME_BYTES: Final = 5
_SHOWN_BYTES: Final = 512
_READ_BYTES: Final = 1_000_000
_LONGEST: Final = 500
_LINE: Final = 16
_NO_VALUE: Final = "The record has no value: a tombstone, or one that is not kept for the sake of its user's privacy."
SchemaTexts = Mapping[int, str]
"""Schema id -> Avro JSON text."""


@dataclass(frozen=True, slots=True)
class DecodedValue:
    """What could be read of a value, and where that ended."""

    fields: tuple[tuple[str, str], ...]
    """Names and values of Avro fields, in order, up to the first that cannot be read."""
    sentence: str
    """What it is, or what is wrong with it."""
    text: str | None
    """The bytes as text, where they are text and not Avro."""
    bytes: str
    """The first bytes in hexadecimal, in lines."""
    size: int | None
    """How many bytes there are; None for no value at all."""


def decode_value(value: bytes | None, schemas: SchemaTexts) -> DecodedValue:
    """A value, read by the schema that its frame names (Confluent: byte 0, the id in four bytes, Avro)."""
    if value is None:
        return DecodedValue((), _NO_VALUE, None, "", None)
    fields, sentence = _read(value, schemas)
    return DecodedValue(fields, sentence, None if fields else _text(value), "\n".join(_lines(value)), len(value))


def _read(value: bytes, schemas: SchemaTexts) -> tuple[tuple[tuple[str, str], ...], str]:
    if len(value) < FRAME_BYTES or value[0]:
        return (
            (),
            "It has no frame of a schema registry (byte 0 and a schema id in four bytes), so it is not read as Avro.",
        )
    if len(value) > _READ_BYTES:
        return (), f"It has {len(value):,} bytes, and is not read."
    number = int.from_bytes(value[1:FRAME_BYTES], "big")
    if number not in schemas:
        known = ", ".join(map(str, schemas))
        return (), f"Its frame names schema {number}, which is not known here; known: {known}."
    return _fields(value[FRAME_BYTES:], json.loads(schemas[number]), number)


def _fields(body: bytes, schema: dict[str, Any], number: int) -> tuple[tuple[tuple[str, str], ...], str]:
    """The fields up to the first that cannot be read: those before it are a record of their own."""
    fields, found, left = schema["fields"], dict[str, Any](), len(body)
    for count, field in enumerate(fields, start=1):
        stream = io.BytesIO(body)
        try:
            read = fastavro.schemaless_reader(stream, {**schema, "fields": fields[:count]}, None)
        except Exception as error:  # noqa: BLE001 - foreign bytes: anything may be wrong
            place = f"{field['name']}, field {count} of {len(fields)}"
            told = str(error) or "the bytes end in it"
            return _told(found), f"Schema {number}: {place}, is not readable: {told}."
        found, left = (dict(read) if isinstance(read, dict) else {}), len(body) - stream.tell()
    rest = f", and {left:,} bytes are left over" if left else ""
    return _told(found), f"It is Avro of schema {number}, {schema.get('name', 'without a name')}{rest}."


def _told(found: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name, _short(json.dumps(value, ensure_ascii=False, default=str))) for name, value in found.items())


def _text(value: bytes) -> str | None:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return None
    return _short(text) if text.isprintable() and text else None


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"


def _lines(value: bytes) -> Iterator[str]:
    for start in range(0, min(len(value), _SHOWN_BYTES), _LINE):
        part = value[start : start + _LINE]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)  # noqa: PLR2004 - what ASCII prints
        yield f"{start:04x}  {part.hex(' '):<{_LINE * 3}} {text}"
    if len(value) > _SHOWN_BYTES:
        yield f"… {len(value) - _SHOWN_BYTES:,} bytes more"
