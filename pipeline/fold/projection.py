"""The reader schema: what the pipeline needs of a writer's schema, and nothing else.

Reading only three of nine fields is what makes decoding affordable. Versions resolve by Avro's rules: a field that a
version lacks is null, a narrower number is widened, and one that was renamed is found by its alias.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from pipeline import columns as c
from pipeline.errors import SetUpError

Field = dict[str, Any]
UNKNOWN_TYPE: Final = "unknown"
"""The reading of an event type that this version has never heard of."""
EVENT_TYPES: Final = ["visit", "click", UNKNOWN_TYPE]
OURS: Final = (c.EVENT_TYPE, c.USER_ID, c.EVENT_TIME)


def projection(writer_schema: str, further: Sequence[Field] = ()) -> str:
    """The Avro reader schema for a writer schema, as JSON text; `further` fields are read beside the needed ones.

    It keeps the writer's names, because Avro resolves records and enums by name. Raises SetUpError if a needed field
    is missing or of another type: values would then be read as something they are not.
    """
    writer = json.loads(writer_schema)
    fields = types_by_name(writer)
    needed = {c.EVENT_TIME: {"type": "long", "logicalType": "timestamp-millis"}, c.USER_ID: "string"}
    for name, expected in needed.items():
        if (found := fields.get(name)) != expected:
            raise SetUpError(f"the Avro schema's field {name} is {found!r}, but must be {expected!r}")
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
    """A field that a reader asks for, with the writer's name for it where that is another."""
    names = {one["name"] for one in writer["fields"]}
    renamed = [one["name"] for one in writer["fields"] if field["name"] in one.get("aliases", ())]
    return field if field["name"] in names or not renamed else {**field, "aliases": renamed[:1]}


def types_by_name(record: Mapping[str, Any]) -> dict[str, Any]:
    """The type of each field of a record, by its name and by those that it had before."""
    named = {alias: field["type"] for field in record["fields"] for alias in field.get("aliases", ())}
    return named | {field["name"]: field["type"] for field in record["fields"]}


def mentioned(sql: str, schemas: Iterable[str], others: Collection[str] = OURS) -> list[Field]:
    """The fields of any of the schemas that a piece of SQL names, but `others`, as a reader sees them.

    Each may be null, for a writer of another schema may not have it. Of several types the newest counts.
    """
    words = set(re.findall(r"\w+", sql)).difference(others)
    fields = {name: kind for schema in schemas for name, kind in types_by_name(json.loads(schema)).items()}
    return [
        {"name": name, "type": kind if "null" in kind else ["null", kind], "default": None}
        for name, kind in sorted(fields.items())
        if name in words
    ]


def passed_over(schemas: Iterable[str], needed: Collection[str]) -> list[Field]:
    """The texts in front of a needed field that nobody needs.

    They are read all the same: where Avro's reader passes over one, it takes a negative length for none at all, and
    would read what follows from within it.
    """
    found = [field["name"] for schema in schemas for field in _in_front(json.loads(schema)["fields"], {*needed})]
    return [{"name": name, "type": ["null", "string"], "default": None} for name in sorted({*found})]


def _in_front(fields: Sequence[Field], needed: set[str]) -> list[Field]:
    needs = [bool(needed & {field["name"], *field.get("aliases", ())}) for field in fields]
    last = max((place for place, is_needed in enumerate(needs) if is_needed), default=0)
    return [
        field
        for field, is_needed in zip(fields[:last], needs, strict=False)
        if not is_needed and field["type"] in ("string", ["null", "string"])
    ]
