"""Dead letters are listed, opened and, once the rules would take them, added to closed windows: each once."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.services import ANY_TIMESTAMP, Clock, settings_of, take
from tests.support.topic_writer import Raw, event
from tests.support.warehouse import page_views, rows, user_totals
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.app import open_service
from tidemark.pipeline.cli import main
from tidemark.pipeline.settings.model import Settings
from tidemark.producers.encode import encode_one, header
from tidemark.schemas import load_schemas

pytestmark = pytest.mark.broker

OURS = load_schemas()[1]
NEWER = json.dumps({**json.loads(OURS), "fields": [{"name": "shop", "type": "string"}, *json.loads(OURS)["fields"]]})
AGAIN = LetterSelection(reasons=("malformed", "future"), is_judged_again=True)
TIME = {"bound": "0s", "allowed_lateness": "0s", "idle_timeout": "1h", "max_future_skew": "10s"}
BEFORE = {("ann", 10_000, 20_000): (1, 0, 0), ("bob", 50_000, 60_000): (1, 0, 0)}
AFTER = {
    **BEFORE,
    ("ann", 10_000, 20_000): (2, 0, 1),
    ("cat", 30_000, 40_000): (1, 0, 1),
    ("eve", 60_000, 70_000): (1, 0, 1),
}


def by_the_newer(user: str, time: int) -> Raw:
    """Returns an event of schema 2, which the service does not have."""
    fields = {"event_id": "e", "event_type": "visit", "user_id": user, "event_time": time, "page_url": "/", "shop": "s"}
    return Raw(encode_one(fields, 2, NEWER), user.encode(), timestamp_ms=time)


@pytest.fixture(scope="module")
def rejected(broker: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Two events by an unknown schema, one from the future, one cut off; then event time goes on past all of them."""
    folder = tmp_path_factory.mktemp("letters")
    topic = f"letters-{folder.name}"
    broker.create_topic(topic, 1, **ANY_TIMESTAMP)
    (folder / "schemas").mkdir()
    (folder / "schemas" / "user_event.avsc").write_text(OURS)
    settings = settings_of(
        broker,
        topic,
        folder / "warehouse",
        time=TIME,
        window={"size": "10s"},
        reports={"page_views": {"keys": ["user_id"]}, "threes": {"keys": ["user_id"], "window": {"count": 3}}},
        totals={"gap": "5s", "every": "10s"},
        schemas={"folder": folder / "schemas"},
    )
    steps = [
        [event("ann", 12_000), by_the_newer("ann", 15_000), by_the_newer("cat", 33_000)],
        [event("eve", 62_000, timestamp_ms=33_000), Raw(header(1) + b"\x04ab\x00\x06an", b"cut", timestamp_ms=33_000)],
        [event("bob", 50_000)],
        [event("bob", 90_000)],
    ]
    with open_service(settings, now=Clock()) as service:
        take(service, broker, topic, steps)
    return settings


def printed_by(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["dead-letters", *arguments]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_they_are_listed_by_reason_and_by_hour(rejected: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    listed = printed_by(capsys, "list", "--warehouse", rejected.warehouse)
    assert "malformed │ no schema has this schema id │ 2 │ 1970-01-01 00:00:15 │ 1970-01-01 00:00:33 │ 0, 2" in listed
    assert "future" in listed
    hours = printed_by(capsys, "hours", "--warehouse", rejected.warehouse, "--to", "1970-01-01T00:00:33Z")
    assert "hour (UTC) ┃ malformed ┃" in hours
    assert "1970-01-01 00:00:00 │ 1 │" in hours


def test_one_is_opened_as_far_as_it_goes(rejected: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    here = ("--warehouse", rejected.warehouse, "--partition", "0", "--offset")
    opened = printed_by(capsys, "show", *here, "4")
    assert 'event_id │ "ab"' in opened
    assert 'event_type │ "visit"' in opened
    assert "user_id, field 3 of 9, is unreadable" in opened
    assert "the unknown schema id 2" in printed_by(
        capsys, "show", *here, "1", "--schemas.folder", str(rejected.schemas.folder)
    )
    assert main(["dead-letters", "show", *here, "0"]) == 2
    assert "there is no dead letter at offset 0 of partition 0" in capsys.readouterr().err


def test_what_todays_rules_take_is_added_once_by_however_many_at_once(rejected: Settings) -> None:
    assert apply_corrections(rejected, AGAIN).rows == [], "nothing was mended yet"
    (Path(str(rejected.schemas.folder)) / "user_event.2.avsc").write_text(NEWER)
    settings = rejected.model_copy(
        update={"time": rejected.time.model_copy(update={"max_future_skew": timedelta(hours=1)})}
    )
    only = LetterSelection(reasons=("malformed",), users=("cat",), is_judged_again=True)
    assert {row["user_id"] for row in apply_corrections(settings, only, dry_run=True).rows} == {"cat"}
    assert page_views(rejected.warehouse) == BEFORE, "a dry run changes nothing"
    with ThreadPoolExecutor() as both:
        done = list(both.map(lambda _: apply_corrections(settings, AGAIN).rows, range(2)))
    assert page_views(rejected.warehouse) == AFTER
    assert sorted(map(len, done)) == [0, 6], "one of the two, three events in page_views and in the totals"
    assert apply_corrections(settings, AGAIN).rows == []
    assert page_views(rejected.warehouse) == AFTER
    assert len(rows(rejected.warehouse, "dead_letters")) == 4, "they stay where they are"
    with open_service(settings, now=Clock()) as service:
        service.drain()
    assert user_totals(Path(rejected.warehouse))["cat"] == (33_000, 33_000, 1, 1, 0)
    assert_conserved(rejected.warehouse)
