"""The reader schema: what the pipeline needs of a writer's schema, and nothing else.

Reading only three of nine fields is what makes decoding affordable.
"""

import json
from typing import Any, Final

from pipeline.errors import SetUpError
from pipeline.frames import columns as c

UNKNOWN_TYPE: Final = "unknown"
"""What an event type reads as that this version has never heard of."""
EVENT_TYPES: Final = ["visit", "click", UNKNOWN_TYPE]


def projection(writer_schema: str) -> str:
    """The Avro reader schema for a writer schema, as JSON text.

    It keeps the writer's names, because Avro resolves records and enums by name. Raises SetUpError if a needed field
    is missing or of another type: values would then be read as something they are not.
    """
    writer = json.loads(writer_schema)
    fields = {field["name"]: field["type"] for field in writer["fields"]}
    _require(fields, c.EVENT_TIME, {"type": "long", "logicalType": "timestamp-millis"})
    _require(fields, c.USER_ID, "string")
    event_type = fields.get(c.EVENT_TYPE)
    if not isinstance(event_type, dict) or event_type.get("type") != "enum":
        raise SetUpError(f"the Avro schema's field {c.EVENT_TYPE} is {event_type!r}, but must be an enum")
    reader = [
        {"name": c.EVENT_TYPE, "type": {**event_type, "symbols": EVENT_TYPES, "default": UNKNOWN_TYPE}},
        {"name": c.USER_ID, "type": "string"},
        {"name": c.EVENT_TIME, "type": "long"},
    ]
    return json.dumps({**writer, "fields": reader})


def _require(fields: dict[str, Any], name: str, expected: Any) -> None:
    found = fields.get(name)
    if found != expected:
        raise SetUpError(f"the Avro schema's field {name} is {found!r}, but must be {expected!r}")
