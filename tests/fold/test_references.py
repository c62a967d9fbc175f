"""Types of other schemas are defined where they are used first."""

import json

import pytest

from tidemark.pipeline.decoding.writer_schema import normal_schema
from tidemark.pipeline.errors import SetUpError
from tidemark.schemas.references import with_types

ADDRESS = json.dumps(
    {"type": "record", "name": "Address", "namespace": "io.x", "fields": [{"name": "zip", "type": "string"}]}
)
USER = json.dumps(
    {
        "type": "record",
        "name": "io.x.User",
        "fields": [{"name": "id", "type": "string"}, {"name": "home", "type": "Address"}],
    }
)
EVENT = json.dumps(
    {
        "type": "record",
        "name": "Event",
        "namespace": "io.x",
        "fields": [
            {"name": "user", "type": ["null", "io.x.User"]},
            {"name": "ship_to", "type": {"type": "array", "items": "Address"}},
            {"name": "friend", "type": "User"},
        ],
    }
)


def test_a_type_is_defined_once_and_then_named() -> None:
    event = json.loads(with_types(EVENT, [ADDRESS, USER]))
    user, ship_to, friend = (field["type"] for field in event["fields"])
    assert [field["name"] for field in user[1]["fields"]] == ["id", "home"]
    assert user[1]["fields"][1]["type"]["fields"][0]["name"] == "zip"
    assert (ship_to["items"], friend) == ("Address", "User")
    assert json.loads(normal_schema(1, json.dumps(event)))["name"] == "Event"


def test_a_type_that_is_nowhere_is_refused_by_name() -> None:
    with pytest.raises(SetUpError, match="unknown type io"):
        normal_schema(1, with_types(EVENT, [ADDRESS]))
