"""A topic in JSON, of which some records are broken: end to end, of a stranger's producer and of the simulator."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.producers.recount import decode, decode_json
from tests.support.against_truth import assert_matches_truth
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.services import settings_of
from tests.support.topic_reader import consumed
from tests.support.topic_writer import Raw, send
from tests.support.warehouse import page_views, rows
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.app import open_service
from tidemark.pipeline.cli import main
from tidemark.pipeline.commands.preflight.check_result import Level
from tidemark.pipeline.commands.preflight.warehouse_checks import check_start
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.checks import DETAILS, Check
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.kafka.topic import connect
from tidemark.pipeline.settings.model import Settings
from tidemark.producers.cli import main as producers
from tidemark.producers.kinds import MALFORMED
from tidemark.producers.truth import Truth

pytestmark = pytest.mark.broker

NOW = 1_790_820_000_000
MAPPING: dict[str, Any] = {
    "user": "cart.items.0.buyer",
    "time": "@timestamp",
    "kind": "act",
    "kinds": {"view": "visit", "tap": "click"},
    "page": "url",
    "event_id": "trace",
    "types": {"price": "number"},
}

REPORTS: dict[str, dict[str, Any]] = {
    "page_views": {"keys": ["user_id"]},
    "page_traffic": {"keys": ["page_url"]},
    "dear": {"where": "price > 5"},
    "acts": {"keys": ["event_type"], "measures": ["events"]},
}


def act(user: Any, time: Any = NOW, act: str = "view", **others: Any) -> bytes:
    """Returns an event in JSON, with texts that have escapes."""
    return json.dumps(
        {"cart": {"items": [{"buyer": user}]}, "@timestamp": time, "act": act, "url": "/b\u00fc"} | others
    ).encode()


GOOD = [
    act("ann", trace="1", price=7.5),
    act("ann", "2026-10-01T04:00:00.500+02:00", "tap", trace=2, price="none"),
    act("ann", trace="1"),  # again
    b"\0\0\0\0\x2a" + act(8, NOW + 5, trace="3", price=6),
    act("b\u00f6b", trace="4", padding="x" * 500_000),
    act("last", NOW + 120_000, trace="5"),  # by which the windows of the others fire
]
BAD = {
    act("ann")[:-2]: Check.JSON,
    act("ann") + b"!": Check.JSON,
    b"\xff\xfe": Check.JSON,
    b"[" * 100_000: Check.JSON,
    b"": Check.EMPTY_VALUE,
    act("\ud800"): Check.TEXT,
    act("ann", act="scroll"): Check.EVENT_TYPE,
    act(None): Check.USER_ID,
    act("ann", 10**30): Check.NO_TIME,
    act("bst", "2026-05-01 13:00:00 BST"): Check.NO_TIME,
    act("tomorrow", "27/11/2026 10:00"): Check.NO_TIME,
    act("object", {"at": NOW}): Check.NO_TIME,
    act("none", None): Check.NO_TIME,
}


def assert_rejected(letters: Sequence[Mapping[str, Any]]) -> None:
    """Asserts that `letters` are `BAD`, each with its reason; an event without a time is not asked for its unit."""
    assert [(row["value"], row["detail"]) for row in letters] == [(value, DETAILS[each]) for value, each in BAD.items()]
    without_time = {row["event_time"] for row in letters if row["detail"] == DETAILS[Check.NO_TIME]}
    assert without_time == {None}
    assert "time_unit" not in DETAILS[Check.NO_TIME]


def test_json_is_counted_rejected_and_replayed(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic, warehouse = make_topic(partitions=1), tmp_path / "warehouse"
    send(broker.bootstrap_servers, topic, [Raw(value, timestamp_ms=NOW + 120_000) for value in [*BAD, *GOOD]])
    settings = settings_of(
        broker,
        topic,
        warehouse,
        schemas={"format": "json", "mapping": MAPPING},
        time={"bound": "0s"},
        deduplicate="event_id",
        reports=REPORTS,
    )
    with open_service(settings) as service:
        service.drain()
    assert_conserved(warehouse)
    window = (NOW, NOW + 60_000)
    expected = {("ann", *window): (1, 1, 0), ("8", *window): (1, 0, 0), ("b\u00f6b", *window): (1, 0, 0)}
    assert page_views(warehouse) == expected
    assert [(row["page_url"], row["page_views"]) for row in rows(warehouse, "page_traffic")] == [("/b\u00fc", 3)]
    assert [row["page_views"] for row in rows(warehouse, "dear")] == [2]
    letters = sorted(rows(warehouse, "dead_letters"), key=lambda row: row["offset"])
    assert_rejected(letters)
    shown = ["dead-letters", "show", "--warehouse", str(warehouse), "--partition", "0", "--offset", "6"]
    assert main([*shown, "--schemas.format", "json"]) == 0
    assert "It is JSON." in capsys.readouterr().out
    mapping = settings.schemas.mapping.model_copy(update={"kinds": {**MAPPING["kinds"], "scroll": "scroll"}})
    schemas = settings.schemas.model_copy(update={"mapping": mapping})
    again = LetterSelection(reasons=("malformed",), is_judged_again=True)
    replayed = apply_corrections(settings.model_copy(update={"schemas": schemas}), again).rows
    assert {row["user_id"] for row in replayed if "user_id" in row} == {"ann"}
    with open_service(settings) as service:
        service.drain()
    assert page_views(warehouse) == {**expected, ("ann", *window): (1, 1, 1)}
    acts = {(row["event_type"], row["events"], row["late_events"]) for row in rows(warehouse, "acts")}
    assert acts == {("visit", 3, 0), ("click", 1, 0), ("scroll", 1, 1)}
    assert_page_is_not_mixed(settings)


def assert_page_is_not_mixed(settings: Settings) -> None:
    """Asserts that neither a start nor `check` nor `replay` takes another field as the page, unless it may."""
    mapping = settings.schemas.mapping.model_copy(update={"page": "act"})
    schemas = settings.schemas.model_copy(update={"mapping": mapping})
    changed = settings.model_copy(update={"schemas": schemas})
    sentence = "schemas.mapping.page was url and is now act"
    with pytest.raises(SetUpError, match=sentence), open_service(changed):
        pass
    with pytest.raises(SetUpError, match=sentence):
        [*check_start(changed, connect(settings.kafka), now_ms)]
    with pytest.raises(SetUpError, match=sentence):
        apply_corrections(changed, LetterSelection(is_judged_again=True))
    allowed = changed.model_copy(update={"schemas": schemas.model_copy(update={"on_change": "record"})})
    start = [*check_start(allowed, connect(settings.kafka), now_ms)]
    assert [result.level for result in start if result.message.startswith(sentence)] == [Level.WARN]
    assert_conserved(Path(settings.warehouse))


def test_the_simulator_sends_the_same_events_in_json_and_in_avro(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topics = {form: make_topic(partitions=2) for form in ("avro", "json")}
    truths, events = list[dict[str, Any]](), list[list[Any]]()
    for form, topic in topics.items():
        file, read = tmp_path / form, decode_json if form == "json" else decode
        pace = ["--rate", "0", "--events", "2000", "--event-rate", "10", "--start-time", "2024-05-01T00:00:00Z"]
        disorder = ["--users", "300", "--jitter", "2s", "--malformed-share", "0.1"]
        where = ["--bootstrap-servers", broker.bootstrap_servers, "--topic", topic, "--truth", str(file)]
        assert producers(["simulate", "--format", form, *where, *pace, *disorder]) == 0
        truths.append({**json.loads(file.read_text()), "topic": ""})
        sent = consumed(broker.bootstrap_servers, topic)
        records = [(each.partition(), each.offset(), each.key(), read(each.value())) for each in sent]
        events.append(sorted(records, key=lambda record: record[:2]))
    assert truths[0] == truths[1]
    assert events[0] == events[1]
    truth = Truth.load(tmp_path / "json")
    assert all(truth.malformed[kind.name.lower()] for kind in MALFORMED)
    with open_service(
        settings_of(broker, topics["json"], tmp_path / "warehouse", schemas={"format": "json"})
    ) as service:
        service.drain()
    assert assert_matches_truth(tmp_path / "warehouse", truth).malformed == truth.sent["malformed"]
