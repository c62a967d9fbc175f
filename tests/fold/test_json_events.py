"""Events in JSON: names instead of a schema, and each value is counted or has a reason."""

import json
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
import pytest

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.folded import NOW, verdicts_of
from tests.support.seeds import SEED
from tests.support.time_texts import TIME_TEXTS, random_time_texts
from tidemark.pipeline.app import plan_fold
from tidemark.pipeline.decoding.decode import decoded, reader
from tidemark.pipeline.decoding.json_projection import JsonProjection
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.fold.duplicates import require_event_id
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import Settings, SparkSettings
from tidemark.schemas.fields import EventFields, EventSchemas

ISO: Final = 1_790_810_400_000
ISO_TEXTS: Final[dict[Any, int | None]] = {**TIME_TEXTS, NOW: None}
MAPPED: Final = EventFields(
    user="items.0.id",
    time="meta.at",
    kind="act",
    kinds={"view": "visit", "1": "click"},
    types={"price": "number", "vip": "boolean"},
)
EVENT: Final = {"items": [{"id": 7}], "meta": {"at": NOW}, "act": "view", "price": 5.5, "vip": True, "country": "NL"}


def as_json(**changes: Any) -> bytes:
    """Returns an event with changed fields; without those that are None."""
    return json.dumps({name: value for name, value in {**EVENT, **changes}.items() if value is not None}).encode()


def fields_of(fields: EventFields, sql: str) -> dict[str, tuple[str, str]]:
    """Returns path and kind of what Java reads, by name."""
    read = json.loads(JsonProjection(fields, sql).plan)["fields"]
    return {field["name"]: (".".join(field["path"]), field["as"]) for field in read}


def test_only_what_events_and_conditions_need_is_read() -> None:
    own = {"read": ("", "read"), "user": ("user_id", "id"), "kind": ("event_type", "text")}
    times = {"time": ("event_time", "time"), "time text": ("event_time", "text")}
    assert fields_of(EventFields(), "") == own | times
    mapped = fields_of(MAPPED, "price > 5 AND NOT vip AND CAST(size AS int) IN (1, 2) AND page_url LIKE 'a%', event_id")
    assert mapped.keys() - fields_of(MAPPED, "").keys() == {
        *("page_url", "event_id", "field price", "field vip", "field size"),
    }
    assert mapped["field price"] == ("price", "number")
    assert mapped["user"] == ("items.0.id", "id")


@pytest.mark.parametrize(
    ("unit", "read"),
    [("s", {"time"}), ("ns", {"time"}), ("iso", {"time text"}), (None, {"time", "time text"})],
)
def test_a_time_is_read_as_its_unit_asks(unit: Any, read: set[str]) -> None:
    fields = fields_of(EventFields(time="at", time_unit=unit), "")
    assert {name for name in fields if name.startswith("time")} == read


def test_names_that_differ_only_in_case_are_refused() -> None:
    with pytest.raises(SetUpError, match="Size and size differ only in case"):
        JsonProjection(MAPPED, "Size > '5' OR size = ''")
    assert JsonProjection(EventFields(), "USER_ID = 'ann' AND user_id <> 'x'").names[3:] == []


def test_a_field_that_has_the_user_inside_is_known_as_such() -> None:
    assert JsonProjection(MAPPED, "items LIKE '%7%' AND country = 'NL'").same_as_user() == {"items"}
    assert JsonProjection(MAPPED, "country = 'NL'").same_as_user() == set()


def test_any_event_may_have_an_id() -> None:
    require_event_id(EventSchemas({}, format="json"))


@pytest.mark.jvm
def test_each_value_is_counted_or_has_a_reason() -> None:
    text = as_json().decode()
    values: dict[bytes | None, Check] = {
        as_json(): Check.PASSED,
        as_json(act=1): Check.PASSED,
        as_json(meta={"at": "2026-10-01T01:20:00+02:00"}): Check.PASSED,
        b"\0\0\0\0\7" + as_json(): Check.PASSED,
        None: Check.EMPTY_VALUE,
        b"": Check.EMPTY_VALUE,
        as_json()[:-1]: Check.JSON,
        as_json() + b"{}": Check.JSON,
        b"\xff" + as_json(): Check.JSON,
        text.replace("NL", "\udcff").encode(errors="surrogateescape"): Check.JSON,
        b"?": Check.JSON,
        as_json(items=[{"id": "\ud800"}]): Check.TEXT,
        as_json(act="scroll"): Check.EVENT_TYPE,
        as_json(act=None): Check.EVENT_TYPE,
        as_json(items=[]): Check.USER_ID,
        as_json(items=[{"id": 7.5}]): Check.USER_ID,
        as_json(items=[{"id": {"x": 1}}]): Check.USER_ID,
        as_json(meta={"at": 2**70}): Check.NO_TIME,
        as_json(meta={"at": "soon"}): Check.NO_TIME,
        as_json(meta={"at": 0}): Check.EVENT_TIME,
        as_json(meta=None): Check.NO_TIME,
        as_json(meta={"at": NOW // 1000}): Check.AGE,
    }
    found = verdicts_of(EventSchemas({}, MAPPED, format="json"), [*values])
    assert [check for check, _ in found] == [*values.values()]


@pytest.mark.jvm
def test_the_user_is_the_first_of_several_fields_that_is_neither_null_nor_empty() -> None:
    users: list[dict[str, object]] = [
        {"id": "ann"},
        {"id": "", "anonymous": 5},
        {"anonymous": "x", "id": None},
        {"id": None},
        {"id": [1]},
    ]
    schemas = EventSchemas({}, EventFields(user="id,anonymous", time="t", kind=""), format="json")
    values = [json.dumps({**user, "t": NOW}).encode() for user in users]
    assert [check for check, _ in verdicts_of(schemas, values)] == [Check.PASSED] * 3 + [Check.USER_ID] * 2
    for at, name in enumerate(("ann", "5", "x")):
        assert [is_met for _, is_met in verdicts_of(schemas, values, f"user_id = '{name}'")].index(True) == at


@pytest.mark.jvm
def test_inserted_rows_of_a_database_are_events_and_other_changes_are_left_out() -> None:
    """The mapping of schemas/README.md for Debezium."""
    row = {"customer": 7, "created_at": NOW, "url": "/"}
    changes = {"c": row, "r": row, "u": row, "d": None}
    values = [json.dumps({"op": op, "before": row, "after": after}).encode() for op, after in changes.items()]
    kinds = {"c": "visit", "r": "visit"}
    fields = EventFields(user="after.customer", time="after.created_at", kind="op", kinds=kinds, page="after.url")
    found = verdicts_of(EventSchemas({}, fields, format="json"), values, leaves_out_kinds=True)
    assert [check for check, _ in found] == [Check.PASSED, Check.PASSED, Check.OTHER_KIND, Check.OTHER_KIND]


@pytest.mark.jvm
def test_an_event_without_a_kind_is_not_of_another_kind() -> None:
    """It is malformed also where other kinds are left out, as is what has nothing of an event."""
    kinds = {"view": Check.PASSED, "scroll": Check.OTHER_KIND, "": Check.EVENT_TYPE, None: Check.EVENT_TYPE}
    values = [*(as_json(act=kind) for kind in kinds), b"{}"]
    schemas = EventSchemas({}, MAPPED, format="json")
    checks = [check for check, _ in verdicts_of(schemas, values, leaves_out_kinds=True)]
    assert checks == [*kinds.values(), Check.EVENT_TYPE]


@pytest.mark.jvm
def test_a_kind_of_its_own_has_any_name_and_is_known_to_conditions() -> None:
    """Also the names of what is not mapped in other programs; values that are mapped to one name are one kind."""
    kinds = {"view": "visit", "order": "purchase", "reorder": "purchase", "unknown": "unknown"}
    schemas = EventSchemas({}, EventFields(user="u", time="t", kind="k", kinds=kinds), format="json")
    values = [json.dumps({"u": "ann", "t": NOW, "k": kind}).encode() for kind in (*kinds, "purchase", "_unknown", "")]
    for kind, met in {"purchase": [1, 2], "unknown": [3], "visit": [0]}.items():
        found = verdicts_of(schemas, values, f"event_type = '{kind}'")
        assert [check for check, _ in found] == [Check.PASSED] * 4 + [Check.EVENT_TYPE] * 3
        assert [at for at, (_, is_met) in enumerate(found) if is_met] == met


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("where", "met", "not_met"),
    [
        ("price > 5", as_json(), [as_json(price=5), as_json(price="no"), as_json(price=[6]), as_json(price=None)]),
        ("vip", as_json(), [as_json(vip=False), as_json(vip="true"), as_json(vip=1)]),
        ("country = 'NL'", as_json(), [as_json(country="nl"), as_json(country=None), as_json(country=["NL"])]),
        ("get_json_object(meta, '$.x') = 'y'", as_json(meta={"at": NOW, "x": "y"}), [as_json()]),
        ("try_cast(size AS int) = 5", as_json(size="5"), [as_json(size="five"), as_json(size=6)]),
        ("user_id = '7' AND event_type = 'visit'", as_json(), [as_json(act=1)]),
    ],
)
def test_a_condition_reads_fields(where: str, met: bytes, not_met: list[bytes]) -> None:
    found = verdicts_of(EventSchemas({}, MAPPED, format="json"), [met, *not_met], where)
    assert found == [(Check.PASSED, True), *[(Check.PASSED, False)] * len(not_met)]


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("unit", "values"),
    [
        ("s", {1_790_820_000: NOW, 1_790_820_000.25: NOW + 250, "1790820000": NOW, 2**62: None, "soon": None}),
        ("ms", {NOW: NOW, NOW + 0.75: NOW, "2026-10-01T01:20:00+02:00": None, None: None}),
        ("us", {NOW * 1000 + 999: NOW, -1: 0, "": None}),
        ("ns", {NOW * 10**6 + 1: NOW, True: None}),
        ("iso", ISO_TEXTS),
        (None, {NOW: NOW, str(NOW): NOW, "2026-10-01T01:20:00+02:00": ISO, "2026": 2026, "2026-13-01": None}),
    ],
)
def test_a_time_becomes_milliseconds(unit: Any, values: dict[Any, int]) -> None:
    if unit == "iso":
        values = {**values, **random_time_texts(2_000, SEED)}
    events = reader(EventSchemas({}, EventFields(user="u", time="t", time_unit=unit, kind=""), format="json"))
    texts = [json.dumps({"u": "ann", "t": value}).encode() for value in values]
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    rows = decoded(spark.createDataFrame(pa.table({"value": pa.array(texts, pa.binary())})), events.plan)
    read = rows.select(*events.columns).collect()
    assert [row["event_time"] for row in read] == [*values.values()]
    assert {(row["user_id"], row["event_type"]) for row in read} == {("ann", "visit")}


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("size > 5", "reports.few.where reads size as int, but it is text"),
        ("size BETWEEN 1 AND 2", "reads size as "),
        (
            "country = 'NL' AND double(size) > 5.5",
            r"write try_cast\(size AS double\), or set schemas.mapping.types.size to",
        ),
        ("boolean(size)", "schemas.mapping.types.size to boolean"),
        ("price > 5 AND vip", None),
        ("size = '5'", None),
        ("try_cast(size AS int) > 5", None),
        ("length(size) > 5", None),
        ("size LIKE '5%' OR size IS NULL", None),
    ],
)
def test_a_start_refuses_a_condition_that_reads_a_text_as_a_number(where: str, sentence: str | None) -> None:
    policy = Settings.model_validate({"reports": {"few": {"where": where}}}).policy()
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    with pytest.raises(SetUpError, match=sentence) if sentence else nullcontext():
        plan_fold(spark, EventSchemas({}, MAPPED, format="json"), policy)


@pytest.mark.jvm
def test_a_start_accepts_such_a_condition_with_a_declared_type() -> None:
    policy = Settings.model_validate({"reports": {"few": {"where": "size > 5"}}}).policy()
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    plan_fold(spark, EventSchemas({}, replace(MAPPED, types={"size": "number"}), format="json"), policy)
