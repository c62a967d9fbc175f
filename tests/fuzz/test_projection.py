"""Fields that are read in addition to the needed fields, so that these are read correctly."""

import json

import pytest

from pipeline.fold.decode import projection_of
from schemas import load_schemas
from schemas.fields import EventSchemas

MAYBE = ["null", "string"]
OURS = json.loads(load_schemas()[1])
NEWER = {**OURS, "fields": [{"name": "tenant", "type": MAYBE}, *OURS["fields"]]}


def texts_read(sql: str, *newer: object) -> list[dict[str, object]]:
    """Returns the fields of the reader schema that no condition and no event needs."""
    texts = {1: json.dumps(OURS)} | {schema_id: json.dumps(schema) for schema_id, schema in enumerate(newer, 2)}
    fields = json.loads(projection_of(EventSchemas(texts), sql).reader_schema)["fields"]
    return [field for field in fields if field["name"].startswith("__")]


@pytest.mark.parametrize(
    ("sql", "count"),
    [("", 1), ("page_url = '/'", 1), ("event_id = ''", 0), ("page_url = user_agent", 3)],
)
def test_texts_before_a_needed_field_are_also_read(sql: str, count: int) -> None:
    assert len(texts_read(sql)) == count


def test_the_records_of_several_schemas_are_read_with_the_same_fields() -> None:
    assert [field["type"] for field in texts_read("", NEWER)] == [MAYBE, MAYBE]
