"""Encodes events as Kafka values: Avro in Confluent's wire format (byte 0, schema id, Avro binary), or JSON."""

import io
import json
import struct
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pyruhvro

from tidemark.schemas import WRITER_ID, load_schemas

MAGIC = 0


def header(schema_id: int) -> bytes:
    """Returns the five bytes before the Avro body: 0 and the big-endian schema id."""
    return struct.pack(">bI", MAGIC, schema_id)


def arrow_schema() -> pa.Schema:
    """Returns the Arrow schema that `encode` expects: the writer's Avro schema, with enums as strings."""
    return pa.schema(pyruhvro.avro_to_arrow_schema(_bundled_schema(WRITER_ID)))


def encode(events: pa.RecordBatch) -> list[bytes]:
    """Returns one framed value per row of `events`, which have `arrow_schema()`, with schema id `WRITER_ID`."""
    if events.num_rows == 0:
        return []
    # One chunk: a second thread would occupy the core that librdkafka and the broker need.
    chunks = pyruhvro.serialize_record_batch(events, _bundled_schema(WRITER_ID), 1)
    prefix, separator = pa.scalar(header(WRITER_ID)), pa.scalar(b"")
    framed = [pc.binary_join_element_wise(prefix, chunk, separator) for chunk in chunks]
    return [value for chunk in framed for value in chunk.to_pylist()]


def encode_as_json(events: pa.RecordBatch) -> list[bytes]:
    """Returns one JSON object per row of `events`, with the fields of the Avro schema; times in ms since 1970."""
    times = events.schema.get_field_index("event_time")
    rows = events.set_column(times, "event_time", events.column(times).cast(pa.int64())).to_pylist()
    return [json.dumps(row, separators=(",", ":")).encode() for row in rows]


Encode = Callable[[pa.RecordBatch], list[bytes]]
ENCODERS: Final[dict[str, Encode]] = {"avro": encode, "json": encode_as_json}
"""Encoders by the name of their format, as in the setting `schemas.format`."""


def encode_one(event: Mapping[str, object], schema_id: int = WRITER_ID, schema_text: str | None = None) -> bytes:
    """Returns one framed value, made by fastavro: for single events, and as the reference for `encode`.

    `schema_text` is the Avro JSON of a `schema_id` that is not bundled. Raises KeyError for an unknown id, ValueError
    or TypeError from fastavro for an event that does not match the schema.
    """
    body = io.BytesIO()
    fastavro.schemaless_writer(body, _parsed(schema_text or _bundled_schema(schema_id)), dict(event))
    return header(schema_id) + body.getvalue()


@cache
def _parsed(schema_text: str) -> Any:
    return fastavro.parse_schema(json.loads(schema_text))


@cache
def _bundled_schema(schema_id: int) -> str:
    return load_schemas()[schema_id]
