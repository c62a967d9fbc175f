"""Schemas and mappings that nothing can read are refused in one sentence, before Spark starts."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.folded import MAPPED, record
from tidemark.pipeline.decoding.decode import projection_of
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.settings.schema_settings import MappingSettings
from tidemark.schemas.fields import EventFields, EventSchemas


def field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind} | more


def refusal(schemas: Mapping[int, Any], sql: str = "", fields: EventFields = MAPPED) -> str:
    """Returns the sentence of the refusal."""
    texts = {schema_id: json.dumps(schema) for schema_id, schema in schemas.items()}
    with pytest.raises(SetUpError) as refused:
        projection_of(EventSchemas(texts, fields), sql)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def pair(*names: str) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [field(name, "int") for name in names]}


NODE = {"type": "record", "name": "Node", "fields": [field("next", ["null", "Node"])]}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("string", "int"),
        ("string", "bytes"),
        (["int", "string"], "int"),
        (["int", "string"], ["string", "int"]),
        (["int", "long"], ["long", "int"]),
        ("long", {"type": "long", "logicalType": "timestamp-millis"}),
        (decimal(9, 2), decimal(9, 3)),
        ({"type": "fixed", "name": "F", "size": 2}, {"type": "fixed", "name": "F", "size": 3}),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "string"}),
        (NODE | {"fields": []}, "string"),
    ],
)
def test_versions_of_a_needed_field_that_no_type_reads(old: Any, new: Any) -> None:
    schemas = {7: record(field("x", old)), 9: record(field("x", new))}
    assert "in versions of the schema, and no type reads all of them" in refusal(schemas, "x = 1")
    texts = {schema_id: json.dumps(schema) for schema_id, schema in schemas.items()}
    for sql in ("user_id = 'x'", 'user_id = "it\'s x"', "user_id = r'\\' OR user_id = 'x'", "x(user_id)"):
        projection_of(EventSchemas(texts, MAPPED), sql)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (NODE, "schema 7: x.next contains itself, and Spark has no such type"),
        ({"type": "array", "items": NODE}, "schema 7: x.next contains itself"),
        (decimal(50, 2), "x is a decimal of more than 38 digits"),
        (pair("id", "ID"), "id and ID differ only in case"),
        ({"type": "map", "values": pair("a", "A")}, "x has fields that differ only in case"),
    ],
)  # fmt: skip
def test_types_that_spark_cannot_read(kind: Any, sentence: str) -> None:
    assert sentence in refusal({7: record(field("x", kind))}, "x IS NULL")
    projection_of(EventSchemas({7: json.dumps(record(field("x", kind)))}, MAPPED), "user_id = 'x'")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["int", {"type": "record", "name": "Empty", "fields": []}])
def test_a_type_with_billions_of_copies_of_another(kind: Any) -> None:
    for depth in range(30):
        kind = {
            "type": "record",
            "name": f"R{depth}",
            "fields": [field("a", kind), field("b", f"R{depth - 1}" if depth else "int")],
        }
    assert "has more than 10,000 parts" in refusal({7: record(field("x", kind))}, "x IS NULL")


def test_names_that_differ_only_in_case() -> None:
    schema = record(field("id", "string"), field("ID", "string"))
    assert "ID and id differ only in case" in refusal({7: schema}, "id = ID")
    fields = EventFields(user="id", time="t", kind="", event_id="ID")
    assert "differ only in case" in refusal({7: schema}, "event_id", fields)


def test_names_that_are_one_field_in_some_versions_only() -> None:
    schemas = {7: record(field("x", "int"), field("y", "int")), 9: record(field("y", "int", aliases=["x"]))}
    assert "x and y are one field of schema 9, but not of all" in refusal(schemas, "x = y")


def test_a_record_that_a_condition_names_in_addition_to_a_part() -> None:
    person = {"type": "record", "name": "P", "fields": [field("id", "string")]}
    schema = {"type": "record", "name": "E", "fields": [field("t", "long"), field("who", person, aliases=["actor"])]}
    fields = EventFields(user="who.id", time="t", kind="")
    assert "is read as a whole and in parts" in refusal({7: schema}, "actor IS NULL", fields)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (["int", "int"], "is no union"),
        ([["int"], "null"], "is no union"),
        ([], "is no union"),
        ({"type": "fixed", "name": "F", "size": -1}, "a fixed type has the size -1"),
        ({"type": "enum", "name": "int", "symbols": ["a"]}, "int is the name of one of Avro's own types"),
        ({"type": "enum", "name": "K", "symbols": ["a-b"]}, "schema 7 is not valid Avro"),
        ({"type": "enum", "symbols": ["a"]}, "schema 7 is not valid Avro"),
        ({"type": "record", "fields": []}, "schema 7 is not valid Avro"),
    ],
)
def test_what_only_one_of_the_avro_libraries_accepts(kind: Any, sentence: str) -> None:
    assert sentence in refusal({7: record(field("x", kind))})


def test_missing_fields_are_named() -> None:
    fields = EventFields(user="who.id", time="at", kind="")
    assert refusal({7: record()}, "", fields) == ("schemas.mapping.user is who.id, but schema 7 has no field who")
    neither = EventFields(user="who.id,id", time="t", kind="")
    assert refusal({7: record()}, "", neither) == "schemas.mapping.user is who.id,id, but schema 7 has no field who"


def test_a_mapping_without_kinds_would_count_no_event() -> None:
    with pytest.raises(ValidationError, match="kinds is empty, so no event would count"):
        MappingSettings(kinds={})
    assert MappingSettings(kind="", kinds={}).fields().kind == ""


def test_a_kind_is_a_short_lower_case_name() -> None:
    kinds = {"view": "visit", "buy": "purchase", "Sign In": "log_in2", "long": "k" * 64, "unknown": "unknown"}
    fields = MappingSettings(kinds=kinds).fields()
    assert (fields.kinds, fields.has_other_kinds) == (kinds, True)
    assert not MappingSettings(kinds={"view": "visit", "tap": "click"}).fields().has_other_kinds
    assert not MappingSettings(kind="", kinds={"buy": "purchase"}).fields().has_other_kinds, "every event is a visit"
    for name in ("", "Purchase", "2nd", "_unknown", "log-in", "log in", "it's", "k" * 65, "käufe"):
        with pytest.raises(ValidationError, match=r"String should match pattern '\^\[a-z\]"):
            MappingSettings(kinds={"value": name})
