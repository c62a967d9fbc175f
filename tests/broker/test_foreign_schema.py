"""Events of an existing topic whose schema is not ours: the settings map its fields."""

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import drawn
from tests.support.services import settings_of
from tests.support.time_texts import TIME_TEXTS
from tests.support.topic_writer import Raw, send, value_of
from tests.support.warehouse import page_views, rows
from tidemark.pipeline.app import open_service
from tidemark.pipeline.cli import main
from tidemark.pipeline.decoding.decode import decoded, reader
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.fold.duplicates import require_event_id
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import Settings, SparkSettings
from tidemark.producers.encode import header
from tidemark.schemas import load_schemas
from tidemark.schemas.fields import EventFields, EventSchemas

NOW = 1_790_820_000_000
ID = 1047
SHOP = {
    "type": "record",
    "name": "Action",
    "namespace": "com.shop",
    "fields": [
        {"name": "trace", "type": "string"},
        {
            "name": "meta",
            "type": {
                "type": "record",
                "name": "Meta",
                "fields": [
                    {"name": "origin", "type": "string"},
                    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
                ],
            },
        },
        {
            "name": "customer",
            "type": [
                "null",
                {"type": "record", "name": "Customer", "fields": [{"name": "id", "type": ["null", "long"]}]},
            ],
        },
        {"name": "act", "type": {"type": "enum", "name": "Act", "symbols": ["view", "tap", "scroll"]}},
        {"name": "url", "type": ["null", "string"]},
        {"name": "country", "type": "string"},
    ],
}
KINDS = {"view": "visit", "tap": "click"}
MAPPING = {"user": "customer.id", "time": "meta.at", "kind": "act", "kinds": KINDS, "page": "url"}


def action(user: int | None, at_ms: int, act: str = "view", url: str | None = "/a", **others: Any) -> dict[str, Any]:
    """Returns an event of the shop."""
    customer = {"customer": {"id": user}}
    return {
        "trace": "t", "meta": {"origin": "web", "at": at_ms * 1000 + 999}, "act": act, "url": url, "country": "NL",
        **customer, **others,
    }  # fmt: skip


def written(event: dict[str, Any], schema: dict[str, Any] = SHOP) -> bytes:
    """Returns the bytes of a record with this event."""
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(schema), event)
    return header(ID) + body.getvalue()


def mapped_settings(broker: Cluster, topic: str, warehouse: Path, schemas: Path) -> Settings:
    """Returns settings that map the shop's fields, with three reports."""
    schemas.mkdir()
    (schemas / f"action.{ID}.avsc").write_text(json.dumps(SHOP))
    return settings_of(
        broker,
        topic,
        warehouse,
        schemas={"folder": schemas, "mapping": {**MAPPING, "event_id": "trace"}},
        time={"bound": "0s"},
        deduplicate="event_id",
        reports={
            "page_views": {"keys": ["user_id"]},
            "page_traffic": {"keys": ["page_url"]},
            "dutch": {"where": "country = 'NL'"},
        },
    )


def test_other_kinds_and_tombstones_are_left_out_of_everything_but_the_ledger(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic, warehouse = make_topic(partitions=1), tmp_path / "warehouse"
    # The kind of most records is not counted; one of them is ahead in time, another has no user.
    scrolls = [action(user, NOW + 600_000 * (user == 1), "scroll") for user in range(1, 19)]
    sent = [action(7, NOW), *scrolls, action(None, NOW, "scroll"), action(7, NOW + 1_000, "tap", trace="2")]
    tombstones = [Raw(None, key, timestamp_ms=NOW) for key in (b"7", None)]
    send(broker.bootstrap_servers, topic, [*(Raw(written(each), timestamp_ms=NOW) for each in sent), *tombstones])
    settings = mapped_settings(broker, topic, warehouse, tmp_path / "schemas")
    kafka = settings.kafka.model_copy(update={"tombstones": "left_out"})
    mapping = settings.schemas.mapping.model_copy(update={"other_kinds": "left_out"})
    schemas = settings.schemas.model_copy(update={"mapping": mapping})
    limit = settings.dead_letters.model_copy(update={"limit": 0.1, "window": 10})
    with open_service(
        settings.model_copy(update={"kafka": kafka, "schemas": schemas, "dead_letters": limit})
    ) as service:
        service.drain()
    balance = assert_conserved(warehouse)
    assert (balance.counted, balance.malformed, balance.watermark) == (2, 0, NOW + 1_000)
    assert sum(row["left_out"] for row in rows(warehouse, "ledger")) == 21
    assert rows(warehouse, "dead_letters") == []
    assert main(["verify", "--warehouse", str(warehouse)]) == 0
    assert main(["status", "--warehouse", str(warehouse)]) == 0
    assert re.search(r"left_out\W+21", capsys.readouterr().out)


def test_valid_events_are_counted_and_invalid_events_have_reasons(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, warehouse = make_topic(), tmp_path / "warehouse"
    good = [
        action(7, NOW, trace="1"), action(7, NOW + 5, "tap", trace="2"),
        action(8, NOW, url=None, country="DE", trace="3"),
        action(7, NOW, trace="1"),  # again
        action(9, NOW + 120_000, trace="4"),  # by which the others' windows fire
    ]  # fmt: skip
    bad = {
        "event_type is no value of schemas.mapping.kinds": action(7, NOW, "scroll"),
        "user_id is empty": action(None, NOW),
        "event_time is not between": action(7, 0, meta={"origin": "web", "at": 0}),
    }
    anonymous = action(7, NOW, customer=None)
    values = [*map(written, good), *map(written, bad.values()), written(anonymous), written(good[0])[:9]]
    send(broker.bootstrap_servers, topic, [Raw(value, timestamp_ms=NOW + 120_000) for value in values])
    with open_service(mapped_settings(broker, topic, warehouse, tmp_path / "schemas")) as service:
        service.drain()
    assert_conserved(warehouse)
    assert sum(row["duplicate"] for row in rows(warehouse, "ledger")) == 1
    window = (NOW, NOW + 60_000)
    assert page_views(warehouse) == {("7", *window): (1, 1, 0), ("8", *window): (1, 0, 0)}
    pages = {row["page_url"]: (row["page_views"], row["clicks"]) for row in rows(warehouse, "page_traffic")}
    assert pages == {"/a": (1, 1), None: (1, 0)}
    assert [(row["page_views"], row["clicks"]) for row in rows(warehouse, "dutch")] == [(1, 1)]
    details = sorted(row["detail"] for row in rows(warehouse, "dead_letters"))
    expected = sorted([*bad, "user_id is empty", "the bytes are not Avro"])
    assert [detail.startswith(begin) for detail, begin in zip(details, expected, strict=True)] == [True] * 5, details


@pytest.mark.parametrize(
    ("avro", "unit", "values"),
    [
        ("int", "s", {1_790_820_000: NOW, -1: -1000}),
        ("long", "s", {1_790_820_000: NOW, 2**62: None}),
        ("double", "s", {1_790_820_000.25: NOW + 250, float("nan"): None, 1e300: None}),
        ("long", None, {NOW: NOW}),
        ("double", "ms", {NOW + 0.75: NOW, float("inf"): None}),
        ({"type": "long", "logicalType": "timestamp-millis"}, None, {NOW: NOW}),
        ({"type": "long", "logicalType": "timestamp-micros"}, None, {NOW * 1000 + 999: NOW}),
        ("long", "us", {NOW * 1000 + 999: NOW, -1: 0}),
        ("long", "ns", {NOW * 10**6 + 1: NOW}),
        ("string", None, TIME_TEXTS),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, None, {NOW * 1000 + 999: NOW}),
        ({"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"}, None, {NOW * 1000 + 999: NOW}),
        ({"type": "long", "connect.name": "io.debezium.time.NanoTimestamp"}, None, {NOW * 10**6 + 1: NOW}),
    ],
)  # fmt: skip
@pytest.mark.jvm
def test_a_time_of_any_unit_becomes_milliseconds_and_an_invalid_time_null(
    avro: Any, unit: Any, values: dict[Any, int]
) -> None:
    schema = {
        "type": "record",
        "name": "E",
        "fields": [{"name": "who", "type": "string"}, {"name": "when", "type": avro}],
    }
    fields = EventFields(user="who", time="when", time_unit=unit, kind="")
    events = reader(EventSchemas({ID: json.dumps(schema)}, fields))
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    plain = {**schema, "fields": [schema["fields"][0], {"name": "when", "type": _plain(avro)}]}
    bodies = [written({"who": "ann", "when": value}, plain) for value in values]
    rows = spark.createDataFrame(pa.table({"value": pa.array(bodies, pa.binary())}))
    read = decoded(rows, events.plan).select(*events.columns).collect()
    assert [row["event_time"] for row in read] == list(values.values())
    assert {(row["user_id"], row["event_type"]) for row in read} == {("ann", "visit")}


def _plain(avro: Any) -> Any:
    """Returns the type without its logical type, so that any number can be written."""
    return avro["type"] if isinstance(avro, dict) else avro


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"user": "client.id"}, "schemas.mapping.user is client.id, but schema 1047 has no field client"),
        ({"user": "customer.name"}, "but schema 1047 has no field customer.name"),
        ({"user": "customer"}, "schemas.mapping.user is customer, which is record, not text or a whole number"),
        ({"time": "meta.at.ms"}, "but schema 1047 has no field meta.at.ms"),
        ({"kind": "meta.at"}, "schemas.mapping.kind is meta.at, which is long, not an enum or text"),
        ({"time_unit": "iso"}, "schemas.mapping.time_unit is iso, but meta.at is a number: set s, ms, us or ns"),
    ],
)
def test_a_mapping_that_does_not_fit_is_reported(changed: dict[str, str], sentence: str) -> None:
    fields = EventFields(**{**MAPPING, **changed})  # type: ignore[arg-type]
    with pytest.raises(SetUpError) as refused:
        reader(EventSchemas({ID: json.dumps(SHOP)}, fields))
    assert sentence in str(refused.value)


def test_deduplication_needs_an_event_id() -> None:
    schemas = {ID: json.dumps(SHOP)}
    require_event_id(EventSchemas(schemas, EventFields(event_id="trace")))
    with pytest.raises(SetUpError, match=r"no schema of the events has a field event_id: .* schemas\.mapping\.event_"):
        require_event_id(EventSchemas(schemas, EventFields(**MAPPING)))  # type: ignore[arg-type]
    fields = EventFields(**{**MAPPING, "event_id": "customer"})  # type: ignore[arg-type]
    with pytest.raises(SetUpError, match=r"schemas\.mapping\.event_id is customer, which is record, not text"):
        reader(EventSchemas(schemas, fields), "event_id")


def exit_codes(broker: Cluster, topic: str, folder: Path, *options: str) -> list[int]:
    """Returns the exit codes of `check` and of `run --until-caught-up`, with the schemas in `folder`."""
    where = [f"--bootstrap-servers={broker.bootstrap_servers}", f"--topic={topic}", f"--warehouse={folder / 'tables'}"]
    verbs = (["check"], ["run", "--until-caught-up"])
    return [main([*verb, *where, f"--schemas.folder={folder}", "--metrics.port=0", *options]) for verb in verbs]


def test_a_text_is_read_whatever_attributes_and_spelling_its_type_has(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, contract, now = make_topic(partitions=1), json.loads(load_schemas()[1]), now_ms()
    texts = {7: {"type": "string", "avro.java.string": "String"}, 8: {"type": "string"}, 9: "string"}
    for schema_id, text in texts.items():
        fields = [
            {**field, "type": text if field["type"] == "string" else field["type"]} for field in contract["fields"]
        ]
        (tmp_path / f"user_event.{schema_id}.avsc").write_text(json.dumps({**contract, "fields": fields}))
    sent = [Raw(header(schema_id) + value_of("ann", now)[len(header(7)) :], timestamp_ms=now) for schema_id in texts]
    send(broker.bootstrap_servers, topic, sent)
    assert exit_codes(broker, topic, tmp_path) == [0, 0]
    assert assert_conserved(tmp_path / "tables").counted == len(texts)


@pytest.mark.parametrize(
    ("avro", "per_ms", "mapping", "codes"),
    drawn(
        [
            pytest.param(
                {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"},
                1_000,
                "user='u'",
                [0, 0],
                id="micros of Debezium",
            ),
            pytest.param("long", 0.001, "user='u'", [1, 1], id="seconds"),
            pytest.param("long", 0.001, "time_unit='s', user='u'", [0, 0], id="seconds by a mapping"),
            pytest.param("long", 1, "user='nobody'", [1, 2], id="no such field"),
        ],
        count=2,
    ),
)
def test_check_and_run_judge_a_mapping_alike(
    avro: Any, per_ms: float, mapping: str, codes: list[int],
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path,
) -> None:  # fmt: skip
    topic, now, fields = make_topic(partitions=1), now_ms(), [{"name": "u", "type": "string"}]
    schema = {"type": "record", "name": "E", "fields": [*fields, {"name": "t", "type": avro}]}
    (tmp_path / f"e.{ID}.avsc").write_text(json.dumps(schema))
    (tmp_path / "tidemark.toml").write_text(f"schemas.mapping = {{ time='t', kind='', {mapping} }}\n[reports.few]")
    value = written({"u": "ann", "t": int(now * per_ms)}, schema)
    send(broker.bootstrap_servers, topic, [Raw(value, timestamp_ms=now)])
    assert exit_codes(broker, topic, tmp_path, f"--config={tmp_path / 'tidemark.toml'}") == codes


@pytest.mark.parametrize(
    "avro",
    [
        {"type": "int", "logicalType": "date"},
        {"type": "int", "connect.name": "io.debezium.time.Date"},
        {"type": "int", "logicalType": "time-millis"},
        {"type": "long", "logicalType": "time-micros"},
    ],
)
def test_a_date_or_a_time_of_day_is_no_event_time(avro: dict[str, str]) -> None:
    schema = {"type": "record", "name": "E", "fields": [{"name": "u", "type": "string"}, {"name": "t", "type": avro}]}
    with pytest.raises(SetUpError, match=r"schemas\.mapping\.time is t, which is an Avro .*: it is no instant"):
        reader(EventSchemas({ID: json.dumps(schema)}, EventFields(user="u", time="t", kind="")))
