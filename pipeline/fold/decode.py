"""Kafka records to events: the Confluent frame is checked and only the needed Avro fields are decoded.

Source of the frame: Confluent, "Wire format" (byte 0, big-endian schema id in four bytes, Avro binary).
"""

from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from pipeline import columns as c
from pipeline.fold.projection import mentioned, passed_over, projection

FRAME_BYTES: Final = 5
MAGIC_BYTE: Final = b"\0"


def decoded(schemas: Mapping[int, str], sql: str = "") -> Column:
    """The event in a Kafka row: a struct (event_type, user_id, event_time) and the fields in `sql`.

    `schemas` maps a schema id to the writer schema's text. The event is null where the frame names no known schema,
    and a struct of nulls where the bytes are not Avro of that schema.
    """
    body = F.expr(f"substring({c.VALUE}, {FRAME_BYTES + 1})")
    further = [*mentioned(sql, schemas.values()), *passed_over(schemas.values(), sql)]
    cases: Any = F
    for number, schema in schemas.items():
        read = from_avro(body, schema, {"mode": "PERMISSIVE", "avroSchema": projection(schema, further)})
        cases = cases.when(F.startswith(F.col(c.VALUE), F.lit(_prefix(number))), read)
    event: Column = cases
    return event


def fields(schemas: Mapping[int, str], sql: str = "") -> list[str]:
    """Names of what `decoded` is for; there may be more in its struct."""
    return [c.EVENT_TYPE, c.USER_ID, c.EVENT_TIME, *(field["name"] for field in mentioned(sql, schemas.values()))]


def has_frame() -> Column:
    """Whether a value begins with the magic byte and has room for a schema id."""
    return (F.length(c.VALUE) >= FRAME_BYTES) & (F.substring(c.VALUE, 1, 1) == F.lit(MAGIC_BYTE))


def has_known_schema(schemas: Mapping[int, str]) -> Column:
    """Whether a value's frame names one of the schemas."""
    return F.substring(c.VALUE, 1, FRAME_BYTES).isin([_prefix(number) for number in schemas])


def _prefix(schema_id: int) -> bytes:
    return MAGIC_BYTE + schema_id.to_bytes(FRAME_BYTES - 1, "big")
