"""Writer schemas of others: normal form, and one sentence for what is not valid."""

import json
from typing import Any

import pytest

from tidemark.pipeline.decoding.writer_schema import normal_schema
from tidemark.pipeline.errors import SetUpError


def record(*fields: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": "record",
        "name": "E",
        "fields": [{"name": f"f{at}", "type": kind} for at, kind in enumerate(fields)],
    } | more


def types(*fields: Any) -> list[Any]:
    return [field["type"] for field in json.loads(normal_schema(7, json.dumps(record(*fields))))["fields"]]


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("string", "string"),
        ({"type": "string"}, "string"),
        ({"type": {"type": "string"}}, "string"),
        ({"type": "string", "avro.java.string": "String"}, "string"),
        (["null", {"type": "string", "avro.java.string": "String"}], ["null", "string"]),
        ({"type": "long", "connect.version": 1, "connect.name": "a.b.C"}, "long"),
        (
            {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"},
            {"type": "long", "logicalType": "timestamp-micros"},
        ),
        ({"type": "int", "logicalType": "date", "doc": "x"}, {"type": "int", "logicalType": "date"}),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2, "connect.name": "x.Decimal"},
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        ),
        ({"type": "array", "items": {"type": "string"}, "doc": "x"}, {"type": "array", "items": "string"}),
        (
            {"type": "enum", "name": "K", "symbols": ["a"], "doc": "x", "namespace": ""},
            {"type": "enum", "name": "K", "symbols": ["a"], "namespace": ""},
        ),
    ],
)
def test_equal_types_have_one_form(written: Any, normal: Any) -> None:
    assert types(written) == [normal]


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ("string", "schema 7 is string, but an event must be an Avro record"),
        (["null", record("int")], "schema 7 is a union, but"),
        ({"type": "enum", "name": "K", "symbols": ["a"]}, "schema 7 is enum, but"),
        (None, "schema 7 is None, but"),
        (record("int", namespace="my..events"), "'my..events' is no name"),
        (record("int", name=7), "7 is no name"),
        (record({"type": "enum", "name": "K", "symbols": ["a-b"]}), "must match the regular expression"),
        (record("Unheard"), "unknown type Unheard"),
        ({"type": "record", "name": "E"}, "'fields'"),
        (record(["null", {"type": "fixed", "name": "E", "size": 4}]), "redefined named type: E"),
        ({**record(), "fields": [{"name": "x", "type": "int"}] * 2}, "field x is defined twice"),
        (record({"items": "int"}), "is no type"),
        ({**record(), "fields": 5}, "schema 7 is not valid Avro"),
    ],
)
def test_what_avro_refuses_is_one_sentence(schema: Any, sentence: str) -> None:
    with pytest.raises(SetUpError) as refused:
        normal_schema(7, json.dumps(schema))
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_defaults_and_names_that_libraries_refuse_do_not_matter() -> None:
    """Producers wrote records with such schemas, and their bytes are as ever."""
    kind = {"type": "enum", "name": "$K", "symbols": ["a", "b"], "default": "z"}
    schema = record(kind, "com.my-shop.$K", {"type": "string", "default": None}, name="a-b", namespace="com.my-shop")
    schema["fields"] += [
        {"name": "q", "type": "string", "default": None},
        {"name": "$t", "type": "int", "default": "a"},
    ]
    normal = json.loads(normal_schema(7, json.dumps(schema)))
    assert [field["name"] for field in normal["fields"]] == ["f0", "f1", "f2", "q", "_24_t"]
    assert normal["fields"][0]["type"]["name"] == "_24_K"
    assert normal["fields"][1]["type"] == "com.my_2d_shop._24_K"
    assert not any("default" in field for field in normal["fields"])


def test_what_is_nested_without_end_is_refused() -> None:
    text = '{"type": "record", "name": "E", "fields": [{"name": "x", "type": ' + '{"type": "array", "items": ' * 5_000
    with pytest.raises(SetUpError):
        normal_schema(7, text + '"int"' + "}" * 5_000 + "}]}")


def test_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(SetUpError, match="schema 7 is not valid Avro"):
        normal_schema(7, "{")
