"""Fields that are read in addition to the needed fields, so that these are read correctly."""

import json

import pytest

from pipeline.fold.projection import OURS, skipped_texts
from schemas import load_schemas

MAYBE = ["null", "string"]
NEWER = {"fields": [{"name": "tenant", "type": MAYBE}, *json.loads(load_schemas()[1])["fields"]]}


@pytest.mark.parametrize(
    ("needed", "also_read"),
    [
        ([], ["event_id"]),
        (["page_url"], ["event_id"]),
        (["event_id"], []),
        (["page_url", "user_agent"], ["event_id", "referrer", "session_id"]),
    ],
)
def test_texts_before_a_needed_field_are_also_read(needed: list[str], also_read: list[str]) -> None:
    assert [field["name"] for field in skipped_texts([load_schemas()[1]], [*OURS, *needed])] == also_read


def test_the_records_of_several_schemas_are_read_with_the_same_fields() -> None:
    fields = skipped_texts([load_schemas()[1], json.dumps(NEWER)], OURS)
    assert fields == [{"name": name, "type": MAYBE, "default": None} for name in ("event_id", "tenant")]
