"""Versions of foreign schemas, read by Spark: what changes in fields that no event needs does no harm."""

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.folded import MAPPED, NOW, record, verdicts, written
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.fold.dead_letter_reader import late_events
from tidemark.pipeline.fold.fold_plan import FoldPlan
from tidemark.pipeline.fold.pseudonym_columns import pseudonymizer
from tidemark.pipeline.pseudonyms import Pseudonyms
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import Settings, SparkSettings
from tidemark.producers.encode import header
from tidemark.schemas.fields import EventFields, EventSchemas

pytestmark = pytest.mark.jvm
MET, COUNTED = (Check.PASSED, True), (Check.PASSED, False)


def enum(name: str, *symbols: str, **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": symbols} | more


def field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind} | more


def met(where: str, *versions: tuple[dict[str, Any], Any]) -> list[tuple[Check, bool]]:
    """Returns the verdicts on one event per version of a schema with ids 7, 8, ..."""
    schemas = {schema_id: schema for schema_id, (schema, _) in enumerate(versions, 7)}
    values = [written(schema_id, schema, event) for schema_id, (schema, event) in enumerate(versions, 7)]
    return verdicts(schemas, values, where)


@pytest.mark.parametrize("where", ["x = 5", "y = 5", "z = 5"])
def test_a_condition_on_any_name_of_a_field_reads_all_versions(where: str) -> None:
    versions = [
        record(field("x", "int")),
        record(field("y", "int", aliases=["x"])),
        record(field("z", "long", aliases=["y"])),
    ]
    assert met(where, *zip(versions, [{"x": 5}, {"y": 5}, {"z": 5}], strict=True)) == [MET] * 3


@pytest.mark.parametrize(
    "kinds", [("string", "int"), ("int", "string"), (["null", "string"], {"type": "map", "values": "int"})]
)
def test_a_field_that_is_not_read_may_change_its_type(kinds: tuple[Any, Any]) -> None:
    values: dict[str, Any] = {"string": "a", "int": 1}
    old, new = ({"type": "record", "name": "E", "fields": [field("note", kind), *record()["fields"]]} for kind in kinds)
    notes = [
        values.get(kind, {}) if isinstance(kind, str) else None if isinstance(kind, list) else {} for kind in kinds
    ]
    assert met("", (old, {"note": notes[0]}), (new, {"note": notes[1]})) == [COUNTED] * 2


def test_an_enum_without_a_namespace_inside_a_namespace_is_read() -> None:
    schema = record(field("k", enum("K", "view", namespace="")), namespace="com.shop")
    fields = EventFields(user="u", time="t", kind="k", kinds={"view": "visit"})
    assert verdicts({7: schema}, [written(7, schema, {"k": "view"})], fields=fields) == [COUNTED]


def test_the_user_is_the_first_of_several_fields_that_is_neither_null_nor_empty() -> None:
    """A version may lack some of them; the first field is a number in one version."""
    anonymous = field("anonymous", ["null", "string"])
    old, new = record(anonymous), record(anonymous, field("id", ["null", "long"]))
    fields = EventFields(user="id,account.name,u,anonymous", time="t", kind="")
    events: list[tuple[int, dict[str, Any], dict[str, Any]]] = [
        (7, old, {"u": "bob", "anonymous": "x"}),
        (7, old, {"u": "", "anonymous": "x"}),
        (7, old, {"u": "", "anonymous": None}),
        (8, new, {"u": "bob", "id": 7, "anonymous": "x"}),
        (8, new, {"u": "bob", "id": None, "anonymous": None}),
    ]
    values = [written(*event) for event in events]
    for user, expected in {"bob": [MET, COUNTED, None, COUNTED, MET], "x": [COUNTED, MET, None, COUNTED, COUNTED],
                           "7": [COUNTED, COUNTED, None, MET, COUNTED]}.items():  # fmt: skip
        found = verdicts({7: old, 8: new}, values, f"user_id = '{user}'", fields)
        assert [*found[:2], None, *found[3:]] == expected
        assert found[2][0] is Check.USER_ID


def test_a_default_and_a_namespace_that_a_library_refuses_change_no_value() -> None:
    usual = record(field("q", enum("K", "a", "b")), namespace="com.shop")
    odd = record(field("q", enum("K", "a", "b")), namespace="com.$shop") | {"name": "my-event"}
    values = [written(7, usual, {"q": "b"}), header(8) + written(7, usual, {"q": "b"})[len(header(7)) :]]
    for default in (None, 5, "c"):
        odd["fields"][-1]["default"] = default
        assert verdicts({7: usual, 8: odd}, values, "q = 'b'") == [MET, MET]


def test_an_enum_may_change_its_namespace_and_lose_a_symbol() -> None:
    old = record(field("c", enum("C", "red", "blue", namespace="a")))
    new = record(field("c", enum("C", "blue", "green", namespace="b")))
    versions = [(old, {"c": "red"}), (old, {"c": "blue"}), (new, {"c": "blue"}), (new, {"c": "green"})]
    assert met("c = 'blue'", *versions) == [COUNTED, MET, MET, COUNTED]
    assert met("c = 'red'", *versions[::3]) == [MET, COUNTED]


@pytest.mark.parametrize("base", [{"type": "bytes"}, {"type": "fixed", "name": "F", "size": 8}])
def test_a_decimal_beyond_its_precision_is_read(base: dict[str, Any]) -> None:
    schema = record(field("amount", {**base, "logicalType": "decimal", "precision": 4, "scale": 2}))
    plain = record(field("amount", {**base, "logicalType": "decimal", "precision": 15, "scale": 2}))
    value = written(7, plain, {"amount": Decimal("1234567.89")})
    assert verdicts({7: schema}, [value], "amount = 1234567.89") == [MET]


def test_a_decimal_beyond_what_spark_has_is_a_dead_letter_if_a_condition_reads_it() -> None:
    schemas = [record(field("n", {"type": "bytes", "logicalType": "decimal", "precision": size})) for size in (4, 45)]
    value = written(7, schemas[1], {"n": Decimal(10**40)})
    assert verdicts({7: schemas[0]}, [value], "n > 0") == [(Check.AVRO, False)]
    assert verdicts({7: schemas[0]}, [value]) == [COUNTED]


def test_an_event_without_any_mapped_field_has_the_reason_that_it_lacks_a_user() -> None:
    maybe = {"type": "record", "name": "E", "fields": [field("u", ["null", "string"]), field("t", ["null", "long"])]}
    values = [written(7, maybe, {"u": None, "t": None}), b"\0\0\0\0\7\x02"]
    assert [check for check, _ in verdicts({7: maybe}, values)] == [Check.USER_ID, Check.AVRO]


def test_a_named_type_may_be_used_by_several_needed_fields() -> None:
    place = {"type": "record", "name": "Place", "fields": [field("city", "string"), field("sort", enum("S", "a", "b"))]}
    schema = record(field("home", place), field("work", ["null", "Place"]), field("last", "S"), namespace="a.b")
    event = {"home": {"city": "Rome", "sort": "a"}, "work": {"city": "Bern", "sort": "b"}, "last": "b"}
    where = "home.city = 'Rome' AND work.city = 'Bern' AND work.sort = last"
    assert met(where, (schema, event), (schema, event | {"work": None})) == [MET, COUNTED]


def test_a_record_in_a_condition_may_gain_lose_and_rename_fields() -> None:
    old = record(field("p", {"type": "record", "name": "P", "fields": [field("a", "int"), field("b", "int")]}))
    new = record(
        field(
            "p",
            [
                "null",
                {"type": "record", "name": "Q", "fields": [field("b2", "long", aliases=["b"]), field("n", "int")]},
            ],
        )
    )
    assert (
        met("p.b2 = 2 AND coalesce(p.a, 1) = 1", (old, {"p": {"a": 1, "b": 2}}), (new, {"p": {"b2": 2, "n": 0}}))
        == [MET] * 2
    )


@pytest.mark.parametrize(
    ("kind", "where", "value"),
    [
        (["int", "string"], "x.member1 = 'a'", "a"),
        (["string", "bytes"], "x.member1 = X'6162' AND x.member0 IS NULL", b"ab"),
        (["int", "long"], "x = 5", 5),
        (["null", "int", "string"], "x.member0 = 5", 5),
        ("null", "x IS NULL", None),
        ({"type": "array", "items": ["null", "int"]}, "array_contains(x, 5)", [None, 5]),
        ({"type": "map", "values": "string"}, "x['k'] = 'v'", {"k": "v"}),
    ],
)
def test_a_condition_may_read_any_type(kind: Any, where: str, value: Any) -> None:
    assert met(where, (record(field("x", kind)), {"x": value})) == [MET]


@pytest.mark.parametrize(
    ("where", "good", "bad"),
    [
        ("url_decode(x) = 'a b' OR url_decode(x) = 'c d'", "a%20b", "a%zz"),
        ("'a' RLIKE x", "a", "("),
        ("element_at(array('a'), CAST(x AS INT)) = 'a'", "1", "0"),
        ("to_utc_timestamp(TIMESTAMP '2026-01-01 09:00:00', x) = TIMESTAMP '2026-01-01'", "Asia/Tokyo", "nowhere"),
        ("if(x = 'b', raise_error(x), true)", "a", "b"),
    ],
)
def test_a_condition_that_fails_on_an_event_is_not_met(where: str, good: str, bad: str) -> None:
    schema = record(field("x", "string"))
    assert met(where, (schema, {"x": good}), (schema, {"x": bad})) == [MET, COUNTED]


def test_a_field_may_have_the_name_of_a_column() -> None:
    names = [
        "Value", "key", "partition", "offset", "now", "time", "check", "timestamp", "topic", "event", "packed",
        "rejected", "kafka_timestamp", "watermark", "condition_0", "moving_time", "click", "arrived", "event_fields",
    ]  # fmt: skip
    schema = record(*(field(name, "int") for name in names))
    events = [dict.fromkeys(names, 5), dict.fromkeys(names, 5) | {"now": 6}]
    assert met(" AND ".join(f"{name} = 5" for name in names), *((schema, event) for event in events)) == [MET, COUNTED]


@pytest.mark.parametrize("name", ["value", "check"])
def test_a_mapped_field_may_have_the_name_of_a_column(name: str) -> None:
    schema = {"type": "record", "name": "E", "fields": [field(name, "string"), field("t", "long")]}
    fields = EventFields(user=name, time="t", kind="")
    assert verdicts({7: schema}, [written(7, schema, {name: "bob"})], "user_id = 'bob'", fields) == [MET]


def test_two_fields_may_differ_only_in_case_if_one_of_them_is_read() -> None:
    schema = record(field("ID", "string"), field("id", "string"))
    assert met("id = 'a'", (schema, {"ID": "b", "id": "a"})) == [MET]


def test_a_recursive_type_that_is_not_read_does_no_harm() -> None:
    node = {"type": "record", "name": "Node", "fields": [field("next", ["null", "Node"]), field("root", ["null", "E"])]}
    schema = record(field("tree", node), field("x", "int"))
    assert met(
        "x = 5 AND u2 <> 'tree'".replace("u2", "user_id"), (schema, {"tree": {"next": None, "root": None}, "x": 5})
    ) == [MET]


def test_a_field_of_a_recursive_record_may_be_mapped() -> None:
    person = {"type": "record", "name": "P", "fields": [field("boss", ["null", "P"]), field("id", "string")]}
    schema = {"type": "record", "name": "E", "fields": [field("t", "long"), field("who", person)]}
    value = written(7, schema, {"who": {"boss": {"boss": None, "id": "b"}, "id": "ann"}})
    fields = EventFields(user="who.id", time="t", kind="")
    assert verdicts({7: schema}, [value], "user_id = 'ann'", fields) == [MET]


def test_names_of_types_may_be_those_of_fields_and_of_our_own() -> None:
    inner = {"type": "record", "name": "event.x", "fields": [field("event", "int")]}
    schema = record(field("x", inner), field("rest", "event.x"), name="event", namespace="skipped")
    assert met("x.event = 5", (schema, {"x": {"event": 5}, "rest": {"event": 1}})) == [MET]


def test_our_own_contract_reads_conditions_like_a_mapped_schema() -> None:
    ours = [field("event_type", enum("T", "visit", "click")), field("user_id", "string")]
    at = field("event_time", {"type": "long", "logicalType": "timestamp-millis"})
    old = {"type": "record", "name": "E", "fields": [*ours, at, field("value", "int")]}
    new = {"type": "record", "name": "E", "fields": [*ours, at, field("worth", "int", aliases=["value"])]}
    event = {"event_type": "click", "user_id": "ann", "event_time": NOW}
    values = [written(7, old, event | {"value": 5}), written(8, new, event | {"worth": 5})]
    assert verdicts({7: old, 8: new}, values, "worth = 5", EventFields()) == [MET] * 2
    assert EventFields() != MAPPED


@pytest.mark.parametrize("has_long_ids", [True, False])
def test_ids_of_eight_bytes_are_read_if_they_are_expected(*, has_long_ids: bool) -> None:
    schema = record(field("x", "int"))
    short = written(7, schema, {"x": 5})
    long = b"\0" * 5 + short[1:]
    unknown = long[:8] + b"\x08" + long[9:]
    found = verdicts({7: schema}, [short, long, unknown, long[:6]], "x = 5", has_long_ids=has_long_ids)
    assert found[0] == MET
    assert [check for check, _ in found[1:]] == [
        Check.PASSED if has_long_ids else Check.SCHEMA_ID,
        *[Check.SCHEMA_ID] * 2,
    ]


@pytest.mark.parametrize(
    "versions", [[record()], [record(field("page_url", "string")), record(field("page_url", "int"))]]
)
def test_a_dead_letter_is_read_again_without_a_page_that_all_versions_have(versions: list[dict[str, Any]]) -> None:
    values = [written(7, versions[0], {"page_url": "/"})]
    columns = {
        "reason": ["too_late"], "topic": ["t"], "partition": [0], "offset": [0], "watermark": [NOW], "batch": [1],
        "kafka_timestamp": [NOW], "value": values,
    }  # fmt: skip
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    policy = Settings.model_validate({"reports": {"few": {"keys": ["user_id"]}}}).policy()
    schemas = EventSchemas({schema_id: json.dumps(schema) for schema_id, schema in enumerate(versions, 7)}, MAPPED)
    (row,) = late_events(spark.createDataFrame(pa.table(columns)), schemas, policy, NOW).collect()
    assert (row["check"], row["user_id"], row["page_url"], row["belongs_to_few"]) == (0, "ann", None, True)
    FoldPlan(schemas, policy, 1, pseudonymizer(spark, Pseudonyms(b"k" * 32)))  # raises nothing


def test_a_dead_letter_is_read_again_whatever_its_fields_are_named() -> None:
    schema = record(field("page_url", "string"), field("value", "int"), field("batch", "int"), field("check", "int"))
    columns = {
        "reason": ["too_late"] * 2, "topic": ["t"] * 2, "partition": [0, 0], "offset": [0, 1], "watermark": [NOW] * 2,
        "batch": [1, 1], "kafka_timestamp": [NOW] * 2,
        "value": [written(7, schema, {"page_url": "/", "value": 5, "batch": batch, "check": 5}) for batch in (5, 6)],
    }  # fmt: skip
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    where = "value = 5 AND batch = 5 AND check = 5"
    policy = Settings.model_validate({"reports": {"few": {"keys": ["user_id"], "where": where}}}).policy()
    schemas = EventSchemas({7: json.dumps(schema)}, MAPPED)
    rows = late_events(spark.createDataFrame(pa.table(columns)), schemas, policy, NOW).collect()
    assert [(row["check"], row["batch"], row["belongs_to_few"]) for row in rows] == [(0, 1, True), (0, 1, False)]


def test_a_dead_letter_is_read_again_whatever_field_marks_the_watermark() -> None:
    schema = record(field("page_url", "string"), field("mark", "int"))
    columns = {
        "reason": ["too_late"], "topic": ["t"], "partition": [0], "offset": [0], "watermark": [NOW], "batch": [1],
        "kafka_timestamp": [NOW], "value": [written(7, schema, {"page_url": "/", "mark": 1})],
    }  # fmt: skip
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    marked = {"strategy": "punctuated", "marker": "mark = 1"}
    policy = Settings.model_validate({"time": marked, "reports": {"few": {"keys": ["user_id"]}}}).policy()
    schemas = EventSchemas({7: json.dumps(schema)}, MAPPED)
    (row,) = late_events(spark.createDataFrame(pa.table(columns)), schemas, policy, NOW).collect()
    assert (row["user_id"], row["belongs_to_few"]) == ("ann", True)
