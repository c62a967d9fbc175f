"""Events to Kafka values: Confluent wire format (byte 0, schema id, Avro binary)."""

import io
import json
import struct
from collections.abc import Mapping
from functools import cache
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pyruhvro

from schemas import WRITER_ID, load_schemas

MAGIC = 0


def header(schema_id: int) -> bytes:
    """The five bytes before the Avro body: 0 and the big-endian schema id."""
    return struct.pack(">bI", MAGIC, schema_id)


def arrow_schema() -> pa.Schema:
    """The Arrow schema that `encode` expects: the writer's Avro schema, enum as string."""
    return pa.schema(pyruhvro.avro_to_arrow_schema(_packaged(WRITER_ID)))


def encode(events: pa.RecordBatch) -> list[bytes]:
    """One framed value per row of a batch in `arrow_schema()`, written with schema `WRITER_ID`."""
    if events.num_rows == 0:
        return []
    # One chunk: a second thread would take the core that librdkafka and the broker need.
    chunks = pyruhvro.serialize_record_batch(events, _packaged(WRITER_ID), 1)
    prefix, separator = pa.scalar(header(WRITER_ID)), pa.scalar(b"")
    framed = [pc.binary_join_element_wise(prefix, chunk, separator) for chunk in chunks]
    return [value for chunk in framed for value in chunk.to_pylist()]


def encode_one(event: Mapping[str, object], schema_id: int = WRITER_ID, schema_text: str | None = None) -> bytes:
    """One framed value by fastavro: for events that come one by one, and the reference for `encode`.

    `schema_text` is the Avro JSON when `schema_id` is not packaged. Raises KeyError for an
    unknown id, ValueError or TypeError from fastavro for an event that does not fit.
    """
    body = io.BytesIO()
    fastavro.schemaless_writer(body, _parsed(schema_text or _packaged(schema_id)), dict(event))
    return header(schema_id) + body.getvalue()


@cache
def _parsed(schema_text: str) -> Any:
    return fastavro.parse_schema(json.loads(schema_text))


@cache
def _packaged(schema_id: int) -> str:
    return load_schemas()[schema_id]
