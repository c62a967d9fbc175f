"""One producer whose clock is wrong: what it sends is kept aside; a watermark that it took along can be put back."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.conservation import assert_conserved
from tests.support.folded import NOW, verdicts_of
from tests.support.kafka_cluster import Cluster
from tests.support.live_views import READERS, cells
from tests.support.seeds import drawn
from tests.support.services import ANY_TIMESTAMP, Clock, settings_of, take
from tests.support.topic_writer import event, send, value_of
from tests.support.warehouse import latest_batch, page_views, rows
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.app import open_service
from tidemark.pipeline.cli import main
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.event_time.policy import TimeOf
from tidemark.pipeline.event_time.rules import LATEST_EVENT_MS
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.settings.model import Settings
from tidemark.schemas import load_schemas
from tidemark.schemas.fields import EventSchemas

pytestmark = pytest.mark.jvm

MakeTopic = Callable[..., str]
WINDOW_MS, HOUR_MS, YEAR_MS = 10_000, 3_600_000, 365 * 86_400_000
TIME = {"bound": "0s", "allowed_lateness": "0s", "idle_timeout": "1h", "max_future_skew": "1m"}


def settings_with(broker: Cluster, topic: str, warehouse: Path, **time: str) -> Settings:
    return settings_of(broker, topic, warehouse, time=TIME | time, window={"size": "10s"})


@pytest.mark.parametrize("of", ["event", "ingestion"])
def test_an_event_ahead_of_the_clock_moves_the_watermark_at_most_to_the_clock(
    of: str, broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic, now = make_topic(1, **ANY_TIMESTAMP), 1_000_000
    settings = settings_with(broker, topic, tmp_path, max_ahead_of_clock="5s", of=of)
    with open_service(settings, now=Clock(now)) as service:
        # The Kafka timestamps are as wrong as the event times.
        send(broker.bootstrap_servers, topic, [event("ann", now + 5_000), event("bob", now + 5_001)])
        service.drain()
    balance = assert_conserved(tmp_path)
    assert (balance.counted, balance.future, balance.watermark) == (1, 1, now)  # the clock caps the watermark
    (letter,) = rows(tmp_path, "dead_letters")
    assert "ahead of the service's clock" in letter["detail"]


@pytest.mark.parametrize(
    ("stamp", "max_age"),
    drawn(
        [
            *(
                pytest.param(stamp, "off")
                for stamp in (-(2**63), -1, 0, LATEST_EVENT_MS + 1, NOW * 1_000_000, 2**63 - 1)
            ),
            *(pytest.param(stamp, "3650d") for stamp in (-(2**63), 0, 1, NOW // 1000, NOW * 1000, 2**63 - 1)),
        ],
        4,
    ),
)
@pytest.mark.parametrize("of", list(TimeOf))
@pytest.mark.jvm
def test_a_kafka_timestamp_that_cannot_be_true_counts_only_where_it_is_not_the_events_time(
    of: TimeOf, stamp: int, max_age: str
) -> None:
    values, time = [value_of("ann", time) for time in (NOW, NOW + 400_000, 1_000)], {"of": of, "max_age": max_age}
    found = verdicts_of(EventSchemas(load_schemas()), values, kafka_timestamp=stamp, time=time)
    # Where the event's own time counts it is compared with the service's clock instead.
    own = [Check.PASSED, Check.FUTURE, Check.PASSED if max_age == "off" else Check.AGE]
    expected = {TimeOf.EVENT: own, TimeOf.INGESTION: [Check.ARRIVAL] * 3, TimeOf.PROCESSING: [Check.PASSED] * 3}
    assert [check for check, _ in found] == expected[of]


def test_a_record_whose_kafka_timestamp_is_no_time_is_a_dead_letter_with_ingestion_time(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    settings = settings_with(broker, topic, tmp_path, max_ahead_of_clock="off", of="ingestion")
    stamps = [NOW, LATEST_EVENT_MS + 1, 2**62, NOW + 1]
    send(broker.bootstrap_servers, topic, [event("ann", NOW, timestamp_ms=stamp) for stamp in stamps])
    with open_service(settings) as service:
        service.drain()
    balance = assert_conserved(tmp_path)
    assert (balance.counted, balance.malformed, balance.watermark) == (2, 2, NOW + 1)
    details = [row["detail"] for row in rows(tmp_path, "dead_letters")]
    assert all("the Kafka timestamp, which counts with time.of = ingestion, is wrong" in detail for detail in details)
    verbs = (["verify"], ["dead-letters", "list"], ["dead-letters", "hours"])
    assert [main([*verb, "--warehouse", str(tmp_path)]) for verb in verbs] == [0, 0, 0]


def test_a_future_letter_from_before_the_first_watermark_can_be_corrected(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    settings = settings_with(broker, topic, tmp_path, max_future_skew="1s")
    with open_service(settings, now=Clock()) as service:
        take(
            service,
            broker,
            topic,
            [[event("ann", 15_000, timestamp_ms=1_000)], [event("bob", 11_000)], [event("bob", 90_000)]],
        )
    rows_added = apply_corrections(settings, LetterSelection(reasons=("future",))).rows
    assert {row["report"] for row in rows_added} == {"page_views", "page_traffic", "site_traffic"}
    assert page_views(tmp_path)["ann", 10_000, 20_000] == (1, 0, 1)


@pytest.mark.core
def test_a_watermark_that_a_wrong_clock_took_away_is_put_back_and_what_came_meanwhile_is_corrected(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    start = (now_ms() // WINDOW_MS - 10) * WINDOW_MS
    settings = settings_with(broker, topic, tmp_path)
    with open_service(settings) as service:
        take(
            service,
            broker,
            topic,
            [
                [event("ann", start), event("ann", start + WINDOW_MS)],
                [event("eve", start + YEAR_MS)],
                [event("ann", start + 2 * WINDOW_MS), event("bob", start + 1_000 * WINDOW_MS)],
            ],
        )
    foretold = apply_corrections(settings, LetterSelection(), dry_run=True)
    assert {row["user_id"] for row in foretold.rows if row["report"] == "page_views"} == {"ann"}
    assert foretold.waiting["page_views"] == 1, "windows whose end no clock has reached are not final"
    assert latest_batch(tmp_path)[0]["watermark"] == start + YEAR_MS
    command = ["reset-watermark", "--warehouse", str(tmp_path), "--reason", "eve's clock"]
    assert main(command) == 0
    assert "would be lowered" in capsys.readouterr().out
    assert latest_batch(tmp_path)[0]["epoch"] == 1
    assert main([*command, "--yes"]) == 0
    stood = latest_batch(tmp_path)[0]["watermark"]
    assert start + 3 * WINDOW_MS <= stood < start + YEAR_MS
    with open_service(settings) as service:
        send(broker.bootstrap_servers, topic, [event("ann", stood + WINDOW_MS), event("ann", stood + 3 * WINDOW_MS)])
        service.drain()
    apply_corrections(settings, LetterSelection())
    assert_conserved(tmp_path)
    shown = page_views(tmp_path)
    assert [shown["ann", at, at + WINDOW_MS][0] for at in range(start, start + 3 * WINDOW_MS, WINDOW_MS)] == [1, 1, 1]
    assert shown["ann", (stood + WINDOW_MS) // WINDOW_MS * WINDOW_MS, (stood + 2 * WINDOW_MS) // WINDOW_MS * WINDOW_MS]


def test_a_window_that_is_open_again_is_shown_as_open_by_every_reader(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    hour = (now_ms() // HOUR_MS + 2) * HOUR_MS
    reports = {"page_views": {"keys": ["user_id"]}, "pairs": {"keys": ["user_id"], "window": {"count": 2}}}
    settings = settings_of(broker, topic, tmp_path, time=TIME, window={"size": "1h"}, reports=reports)
    with open_service(settings) as service:
        take(
            service, broker, topic, [[event("ann", hour), event("ann", hour + 5)], [event("bob", hour + 10 * HOUR_MS)]]
        )
    assert main(["reset-watermark", "--warehouse", str(tmp_path), "--yes"]) == 0
    with open_service(settings) as service:
        take(service, broker, topic, [[event("ann", hour + 20)]])
        for name, reader in READERS.items():
            shown = cells(reader(str(tmp_path), "page_views"), "state", "user_id", "page_views")
            assert sorted(shown) == [("open", "ann", 3), ("open", "bob", 1)], name
            shown = cells(reader(str(tmp_path), "pairs"), "state", "user_id", "page_views")
            assert sorted(shown) == [("closed", "ann", 2), ("open", "ann", 1), ("open", "bob", 1)], name


def test_there_is_nothing_to_put_back_where_the_watermark_is_not_ahead(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    with open_service(settings_with(broker, topic, tmp_path)) as service:
        send(broker.bootstrap_servers, topic, [event("ann", 20_000)])
        service.drain()
    assert main(["reset-watermark", "--warehouse", str(tmp_path)]) == 2
    assert "there is nothing to lower" in capsys.readouterr().err
