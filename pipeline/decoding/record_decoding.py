"""Decodes the value of a record: its frame, its fields of JSON or of Avro up to the first unreadable one, its bytes."""

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import fastavro

from tidemark.command_line.counts import counted
from tidemark.pipeline.decoding.writer_schema import normal_schema
from tidemark.pipeline.errors import SetUpError
from tidemark.schemas.fields import GUID_BYTES, Guid

FRAME_BYTES: Final = 5
_ID_BYTES: Final = 4
_LONG_ID: Final = 5
"""The index of an id of eight bytes, of which the first four are 0; no registry has an id 0."""
_GUID_FRAME_BYTES: Final = 1 + GUID_BYTES
_SHOWN_BYTES: Final = 512
_READ_BYTES: Final = 1_000_000
_LONGEST: Final = 500
_LINE: Final = 16
_NO_VALUE: Final = "The record has no value: a tombstone, or a value that is not stored, for privacy."
SchemaTexts = Mapping[int, str]
"""Schemas as JSON, by schema id."""


@dataclass(frozen=True, slots=True)
class DecodedValue:
    """A value, as far as it could be read."""

    fields: tuple[tuple[str, str], ...]
    """Names and values of fields, in order, up to the first unreadable one."""
    sentence: str
    """The schema of the value, or the reason that it is unreadable."""
    text: str | None
    """The bytes as text, if they are text without fields."""
    bytes: str
    """The first bytes as lines in hexadecimal."""
    size: int | None
    """Number of bytes; None without a value."""


def decode_value(value: bytes | None, schemas: SchemaTexts) -> DecodedValue:
    """Decodes a value with the schema in its frame (Confluent's: byte 0, schema id in four bytes, Avro)."""
    if value is None:
        return DecodedValue((), _NO_VALUE, None, "", None)
    fields, sentence = _read(value, schemas)
    return DecodedValue(fields, sentence, None if fields else _text(value), "\n".join(_lines(value)), len(value))


def _read(value: bytes, schemas: SchemaTexts) -> tuple[tuple[tuple[str, str], ...], str]:
    if event := _json_object(value):
        return _texts(event), "It is JSON."
    schema_id, end = _frame(value)
    if schema_id is None:
        return (
            (),
            "It has no frame of a schema registry (byte 0, schema id in four bytes), so it is not decoded.",
        )
    if len(value) > _READ_BYTES:
        return (), f"It has {counted(len(value), 'byte')}, which is too large to decode."
    if schema_id not in schemas:
        known = ", ".join(map(str, schemas))
        return (), f"Its frame has the unknown schema id {schema_id}; known ids: {known}."
    try:
        schema = json.loads(normal_schema(schema_id, schemas[schema_id]))
    except SetUpError as error:
        return (), f"It is not decoded: {error}."
    return _fields(value[end:], schema, schema_id)


def _frame(value: bytes) -> tuple[int | None, int]:
    """Returns the schema id in a value's frame, None without a frame, and where the frame ends."""
    if value.startswith(b"\1") and len(value) >= _GUID_FRAME_BYTES:
        return Guid(int.from_bytes(value[1:_GUID_FRAME_BYTES], "big")), _GUID_FRAME_BYTES
    if len(value) < FRAME_BYTES or value[0]:
        return None, 0
    start = _LONG_ID if value.startswith(b"\0" * _LONG_ID) else 1
    return int.from_bytes(value[start : start + _ID_BYTES], "big"), start + _ID_BYTES


def _json_object(value: bytes) -> Mapping[str, Any] | None:
    """Returns a value that is a JSON object, with or without a frame of four bytes; None for any other value."""
    body = value[FRAME_BYTES:] if value.startswith(b"\0") else value
    if len(body) > _READ_BYTES or not body.lstrip().startswith(b"{"):
        return None
    try:
        event = json.loads(body.decode())
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _fields(body: bytes, schema: dict[str, Any], schema_id: int) -> tuple[tuple[tuple[str, str], ...], str]:
    """Returns the fields up to the first unreadable one, and a sentence. Reads prefixes of the schema as records."""
    fields, values, left = schema["fields"], dict[str, Any](), len(body)
    for count, field in enumerate(fields, start=1):
        stream = io.BytesIO(body)
        try:
            read = fastavro.schemaless_reader(stream, {**schema, "fields": fields[:count]}, None)
        except Exception as error:  # noqa: BLE001 - untrusted bytes may raise anything
            position = f"{field['name']}, field {count} of {len(fields)}"
            reason = str(error) or "the value ends within it"
            return _texts(values), f"Schema {schema_id}: {position}, is unreadable: {reason}."
        values, left = (dict(read) if isinstance(read, dict) else {}), len(body) - stream.tell()
    rest = f", with {counted(left, 'byte')} left over" if left else ""
    return _texts(values), f"It is Avro of schema {schema_id}, {schema.get('name', 'without a name')}{rest}."


def _texts(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name, _short(json.dumps(value, ensure_ascii=False, default=str))) for name, value in values.items())


def _text(value: bytes) -> str | None:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return None
    return _short(text) if text.isprintable() and text else None


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({counted(len(text), 'character')})"


def _lines(value: bytes) -> Iterator[str]:
    for start in range(0, min(len(value), _SHOWN_BYTES), _LINE):
        chunk = value[start : start + _LINE]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in chunk)  # noqa: PLR2004 - what ASCII prints
        yield f"{start:04x}  {chunk.hex(' '):<{_LINE * 3}} {text}"
    if len(value) > _SHOWN_BYTES:
        yield f"… {counted(len(value) - _SHOWN_BYTES, 'more byte')}"
