"""Which fields are read beside those that are needed, so that what is needed is read from its place."""

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
def test_texts_in_front_of_a_needed_field_are_read_too(needed: list[str], also_read: list[str]) -> None:
    assert [field["name"] for field in skipped_texts([load_schemas()[1]], [*OURS, *needed])] == also_read


def test_of_several_schemas_every_record_is_read_alike() -> None:
    found = skipped_texts([load_schemas()[1], json.dumps(NEWER)], OURS)
    assert found == [{"name": name, "type": MAYBE, "default": None} for name in ("event_id", "tenant")]
