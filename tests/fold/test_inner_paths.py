"""A mapped path leads on inside of a text that is JSON, and in a list of keys and values to the value of a key."""

import json
from typing import Any, Final

import pytest

from tests.support.folded import NOW, record, verdicts, verdicts_of, written
from tidemark.pipeline.decoding.decode import projection_of
from tidemark.pipeline.decoding.mapping import has_page
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.checks import Check
from tidemark.schemas.fields import EventFields, EventSchemas

TEXT: Final = ["null", "string"]
VALUE: Final = {
    "type": "record",
    "name": "V",
    "fields": [{"name": "text", "type": TEXT}, {"name": "number", "type": ["null", "long"]}],
}
PARAM: Final = {
    "type": "record",
    "name": "P",
    "fields": [{"name": "key", "type": "string"}, {"name": "value", "type": ["null", VALUE]}],
}
OLD: Final = record({"name": "note", "type": "string"}, {"name": "params", "type": {"type": "array", "items": PARAM}})
NEW: Final = record(
    {"name": "params", "type": ["null", {"type": "array", "items": PARAM}]}, {"name": "note", "type": TEXT}
)


def event(user: Any = "ann", at: Any = NOW, page: Any = "/a", **more: Any) -> dict[str, Any]:
    """An event with all it has in a text and a list, in which other keys come first."""
    params = [
        {"key": "size", "value": {"text": None, "number": 4}},
        {"key": "page", "value": {"text": page, "number": None}},
    ]
    return {"note": json.dumps({"who": [{"id": user}], "at": at}), "params": params, **more}


IN_NOTES: Final = EventFields(user="note.who.0.id", time="note.at", kind="", page="params.page.text")
READ: Final[list[tuple[dict[str, Any], str]]] = [
    (event(), "user_id = 'ann' AND page_url = '/a'"),
    (event(user=7), "user_id = '7'"),
    (event(at="2026-10-01T01:20:00Z"), "user_id = 'ann'"),
    (event(at=str(NOW)), "user_id = 'ann'"),
    (event(), "get_json_object(note, '$.who[0].id') = 'ann' AND size(params) = 2"),
    (event(page=None), "page_url IS NULL"),
    (event(params=[]), "page_url IS NULL"),
    (event(params=[*event()["params"], {"key": "page", "value": {"text": "/b", "number": 1}}]), "page_url = '/b'"),
]
REJECTED: Final[list[tuple[dict[str, Any], Check]]] = [
    (event(user=None), Check.USER_ID),
    (event(note="no JSON"), Check.USER_ID),
    (event(note='{"who": [{"id": "ann"}], "at": 5'), Check.USER_ID),
    (event(at=None), Check.NO_TIME),
    (event(at="soon"), Check.NO_TIME),
    (event(at=0), Check.EVENT_TIME),
]


@pytest.mark.jvm
def test_fields_of_avro_are_read_inside_of_texts_and_lists_of_all_versions() -> None:
    for index, (met, where) in enumerate(READ):
        values = [written(schema_id, schema, met) for schema_id, schema in ((7, OLD), (8, NEW), (7, OLD))]
        assert verdicts({7: OLD, 8: NEW}, values, where, IN_NOTES) == [(Check.PASSED, True)] * 3, READ[index]
    values = [written(8, NEW, rejected) for rejected, _ in REJECTED]
    found = [check for check, _ in verdicts({7: OLD, 8: NEW}, values, "", IN_NOTES)]
    assert found == [check for _, check in REJECTED]


@pytest.mark.jvm
def test_fields_are_read_inside_of_maps_and_the_kind_in_the_first_of_several_fields() -> None:
    texts = {"name": "texts", "type": ["null", {"type": "map", "values": TEXT}]}
    old = record({"name": "act", "type": "string"}, {"name": "texts", "type": {"type": "map", "values": "string"}})
    new = record(texts, {"name": "act", "type": TEXT}, {"name": "name", "type": TEXT})
    fields = EventFields(user="texts.who", time="texts.at", kind="name,act", kinds={"buy": "purchase", "see": "visit"})
    inside = {"who": "ann", "at": str(NOW)}
    values = [
        written(7, old, {"act": "buy", "texts": inside}),
        written(8, new, {"act": "other", "name": "buy", "texts": inside}),
        written(8, new, {"act": "buy", "name": "", "texts": inside | {"more": None}}),
        written(8, new, {"act": "buy", "name": None, "texts": inside}),
        written(8, new, {"act": "buy", "name": "see", "texts": inside}),
        written(8, new, {"act": "other", "name": None, "texts": inside}),
        written(8, new, {"act": None, "name": None, "texts": inside}),
        written(8, new, {"act": "buy", "name": None, "texts": None}),
        written(7, old, {"act": "buy", "texts": {"at": str(NOW)}}),
    ]
    where = "event_type = 'purchase' AND texts['who'] = 'ann'"
    assert verdicts({7: old, 8: new}, values, where, fields) == [
        *[(Check.PASSED, True)] * 4,
        (Check.PASSED, False),
        *[(Check.EVENT_TYPE, False)] * 2,
        *[(Check.USER_ID, False)] * 2,
    ]


@pytest.mark.jvm
def test_fields_of_json_are_read_inside_of_texts_and_lists() -> None:
    schemas = EventSchemas({}, IN_NOTES, format="json")
    for met, where in READ:
        of_json = where.replace("size(params) = 2", "params IS NOT NULL")
        assert verdicts_of(schemas, [json.dumps(met).encode()], of_json) == [(Check.PASSED, True)], met
    found = [check for check, _ in verdicts_of(schemas, [json.dumps(rejected).encode() for rejected, _ in REJECTED])]
    assert found == [check for _, check in REJECTED]


@pytest.mark.jvm
@pytest.mark.parametrize(("unit", "at"), [("s", NOW // 1000), ("us", f"{NOW}000"), ("iso", "2026-10-01T01:20:00Z")])
def test_a_time_in_a_text_has_the_unit_of_the_settings(unit: Any, at: Any) -> None:
    fields = EventFields(user="note.who.0.id", time="note.at", time_unit=unit, kind="")
    assert verdicts({7: OLD}, [written(7, OLD, event(at=at))], "user_id = 'ann'", fields) == [(Check.PASSED, True)]


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("params.page", "schemas.mapping.page is params.page, which is record, not text"),
        ("params.page.colour", "schemas.mapping.page is params.page.colour, but colour cannot be found in record"),
        ("params.page.number", "schemas.mapping.page is params.page.number, which is long, not text"),
        ("tags.a", "schemas.mapping.page is tags.a, but a cannot be found in a list without key and value"),
        ("t.a", "schemas.mapping.page is t.a, but schema 7 has no field t.a"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(page: str, sentence: str) -> None:
    schema = record(*OLD["fields"][2:], {"name": "tags", "type": {"type": "array", "items": "string"}})
    schemas = EventSchemas({7: json.dumps(schema)}, EventFields(user="u", time="t", kind="", page=page))
    with pytest.raises(SetUpError) as error:
        projection_of(schemas, "page_url")
    assert str(error.value) == sentence
    assert not has_page(schemas)


def test_a_page_in_a_text_or_list_is_a_page() -> None:
    for page in ("note.url", "params.page.text"):
        assert has_page(EventSchemas({7: json.dumps(OLD), 8: json.dumps(NEW)}, EventFields(page=page)))


@pytest.mark.jvm
def test_each_version_of_an_enum_may_have_kinds_of_its_own() -> None:
    old, new = (
        record({"name": "k", "type": {"type": "enum", "name": "K", "symbols": symbols}})
        for symbols in (["view", "unknown"], ["order", "view", "other"])
    )
    kinds = {"view": "visit", "order": "purchase", "unknown": "login"}
    fields = EventFields(user="u", time="t", kind="k", kinds=kinds)
    events = [(7, old, "view"), (7, old, "unknown"), (8, new, "order"), (8, new, "other")]
    values = [written(schema_id, schema, {"k": kind}) for schema_id, schema, kind in events]
    for at, kind in {0: "visit", 1: "login", 2: "purchase"}.items():
        found = verdicts({7: old, 8: new}, values, f"event_type = '{kind}'", fields)
        assert [check for check, _ in found] == [Check.PASSED] * 3 + [Check.EVENT_TYPE]
        assert [is_met for _, is_met in found].index(True) == at
