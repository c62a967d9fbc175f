"""The Avro reader schema: only the fields of a writer's schema that the pipeline needs.

Reading three of nine fields makes decoding affordable. Versions resolve by Avro's rules: a field that a version lacks
is null, a narrower number is widened, and a renamed field is found by its alias.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from pipeline import columns as c
from pipeline.errors import SetUpError

Field = dict[str, Any]
UNKNOWN_TYPE: Final = "unknown"
"""The symbol for event types of later versions."""
EVENT_TYPES: Final = ["visit", "click", UNKNOWN_TYPE]
OURS: Final = (c.EVENT_TYPE, c.USER_ID, c.EVENT_TIME)


def projection(writer_schema: str, further: Sequence[Field] = ()) -> str:
    """Returns the Avro reader schema for a writer schema, both as JSON, with `further` fields after the needed ones.

    It has the writer's names, because Avro resolves records and enums by name. Raises SetUpError if a needed field is
    missing or of another type: its values would be misread.
    """
    writer = json.loads(writer_schema)
    fields = types_by_name(writer)
    needed = {c.EVENT_TIME: {"type": "long", "logicalType": "timestamp-millis"}, c.USER_ID: "string"}
    for name, expected in needed.items():
        if (kind := fields.get(name)) != expected:
            raise SetUpError(f"the Avro schema's field {name} is {kind!r}, but must be {expected!r}")
    event_type = fields.get(c.EVENT_TYPE)
    if not isinstance(event_type, dict) or event_type.get("type") != "enum":
        raise SetUpError(f"the Avro schema's field {c.EVENT_TYPE} is {event_type!r}, but must be an enum")
    reader: list[Field] = [
        {"name": c.EVENT_TYPE, "type": {**event_type, "symbols": EVENT_TYPES, "default": UNKNOWN_TYPE}},
        {"name": c.USER_ID, "type": "string"},
        {"name": c.EVENT_TIME, "type": "long"},
        *further,
    ]
    return json.dumps({**writer, "fields": [resolved(field, writer) for field in reader]})


def resolved(field: Field, writer: Mapping[str, Any]) -> Field:
    """Returns a reader's field, with the `writer` schema's name as alias if the writer renamed it."""
    names = {written["name"] for written in writer["fields"]}
    renamed = [written["name"] for written in writer["fields"] if field["name"] in written.get("aliases", ())]
    return field if field["name"] in names or not renamed else {**field, "aliases": renamed[:1]}


def types_by_name(record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the type of each field of a record schema, by its name and by its aliases."""
    named = {alias: field["type"] for field in record["fields"] for alias in field.get("aliases", ())}
    return named | {field["name"]: field["type"] for field in record["fields"]}


def mentioned(sql: str, schemas: Iterable[str], others: Collection[str] = OURS) -> list[Field]:
    """Returns reader's fields for the names in `sql` that any of the `schemas` (oldest first) has, except `others`.

    Each may be null, because another schema may lack it. The newest schema decides the type.
    """
    words = set(re.findall(r"\w+", sql)).difference(others)
    fields = {name: kind for schema in schemas for name, kind in types_by_name(json.loads(schema)).items()}
    return [
        {"name": name, "type": kind if "null" in kind else ["null", kind], "default": None}
        for name, kind in sorted(fields.items())
        if name in words
    ]


def skipped_texts(schemas: Iterable[str], needed: Collection[str]) -> list[Field]:
    """Returns reader's fields for the texts that precede a needed field and that are not needed themselves.

    They must be read: Avro's reader skips a text of negative length as an empty text, and would read the next field
    from inside it.
    """
    names = {field["name"] for schema in schemas for field in _preceding(json.loads(schema)["fields"], {*needed})}
    return [{"name": name, "type": ["null", "string"], "default": None} for name in sorted(names)]


def _preceding(fields: Sequence[Field], needed: set[str]) -> list[Field]:
    """Returns the texts among `fields` before the last of those `needed`, without these."""
    are_needed = [bool(needed & {field["name"], *field.get("aliases", ())}) for field in fields]
    last = max((index for index, is_needed in enumerate(are_needed) if is_needed), default=0)
    return [
        field
        for field, is_needed in zip(fields[:last], are_needed, strict=False)
        if not is_needed and field["type"] in ("string", ["null", "string"])
    ]
