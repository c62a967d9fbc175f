"""Too-late events come to `user_totals` through the service, each once; count windows have no too-late events."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from tests.crash.store_faults import Refusal, refusing
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.services import ANY_TIMESTAMP, LATER, Clock, settings_of
from tests.support.topic_writer import Raw, event, send
from tests.support.warehouse import rows, user_totals
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.app import open_service
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tuning import Tuning

pytestmark = pytest.mark.broker

TIME = {"bound": "0s", "allowed_lateness": "0s", "idle_timeout": "1h", "max_future_skew": "10s"}
REPORTS: dict[str, dict[str, Any]] = {
    "page_views": {"keys": ["user_id"], "window": {"size": "10s"}},
    "site_traffic": {"window": {"size": "20s"}},
}
STEPS = [
    [event("ann", 12_000), event("ann", 31_000, "click")],
    [event("bob", 50_000)],
    # Too late; from a user of whom nothing else came; too late for page_views only; and from the future.
    [
        event("ann", 5_000),
        event("cat", 33_000, "click"),
        event("bob", 47_000),
        event("eve", 99_000, timestamp_ms=1_000),
    ],
]
COUNTED = {
    "ann": (12_000, 31_000, 2, 1, 1),
    "bob": (47_000, 70_000, 2, 3, 0),
}
CORRECTED = {
    "ann": (5_000, 31_000, 2, 2, 1),
    "bob": (47_000, 70_000, 2, 3, 0),
    "cat": (33_000, 33_000, 1, 0, 1),
}


@pytest.fixture
def late(broker: Cluster, make_topic: Callable[..., str], tmp_path: Path) -> Iterator[Settings]:
    """Three events came too late; panes are compacted after every batch."""
    totals = {"gap": "5s", "every": "10s"}
    topic = make_topic(1, **ANY_TIMESTAMP)
    settings = settings_of(broker, topic, tmp_path, time=TIME, reports=REPORTS, totals=totals)
    play(settings, STEPS)
    yield settings
    assert_conserved(Path(settings.warehouse))


def play(settings: Settings, steps: Sequence[Sequence[Raw]]) -> None:
    with open_service(settings, now=Clock(LATER), tuning=Tuning(upkeep_batches=1, merged_runs=2)) as service:
        for step in steps:
            send(settings.kafka.bootstrap_servers, settings.kafka.topic, step)
            service.drain()


def totals(settings: Settings) -> dict[str, tuple[int, int, int, int, int]]:
    """User -> first seen, last seen, sessions, page views, clicks."""
    return user_totals(Path(settings.warehouse))


def test_the_service_shows_them_when_it_publishes_next_and_each_once(late: Settings) -> None:
    table = DeltaTable(f"{late.warehouse}/user_totals")
    apply_corrections(late, LetterSelection(), dry_run=True)
    play(late, [[event("bob", 70_000)]])
    assert totals(late) == COUNTED, "a dry run changes nothing"
    table.update_incremental()
    before = table.version()
    assert apply_corrections(late, LetterSelection()).rows
    assert apply_corrections(late, LetterSelection()).rows == []
    table.update_incremental()
    assert table.version() == before, "the service alone writes it"
    for number in (1, 2):
        play(late, [[event("dan", 70_000 + number * 10_000)]])
        found = totals(late)
        assert found.pop("dan")
        assert found == CORRECTED


def test_a_run_that_was_killed_has_decided_once(late: Settings) -> None:
    refusal = Refusal("page_views", "late_events = 0")
    with refusing(Path(late.warehouse), [refusal]), pytest.raises(DeltaError, match="failed validation check"):
        apply_corrections(late, LetterSelection())
    apply_corrections(late, LetterSelection())
    play(late, [[event("bob", 70_000)]])
    assert totals(late) == CORRECTED


def test_an_event_from_the_future_waits_until_its_time_has_come(late: Settings) -> None:
    reasons = ("too_late", "partly_late", "future")
    apply_corrections(late, LetterSelection(reasons=reasons))
    play(late, [[event("bob", 70_000)], [event("dan", 99_000)]])
    assert "eve" not in totals(late)
    apply_corrections(late, LetterSelection(reasons=reasons))
    play(late, [[event("dan", 120_000)]])
    assert totals(late)["eve"] == (99_000, 99_000, 1, 1, 0)


def test_nothing_is_too_late_for_count_windows(broker: Cluster, make_topic: Callable[..., str], tmp_path: Path) -> None:
    reports = {**REPORTS, "pairs": {"keys": ["user_id"], "window": {"count": 2}}}
    settings = settings_of(broker, make_topic(1, **ANY_TIMESTAMP), tmp_path, time=TIME, reports=reports)
    play(settings, [*STEPS, [event("bob", 120_000)]])
    before = rows(tmp_path, "pairs")
    added = apply_corrections(settings, LetterSelection(reasons=("too_late", "partly_late", "future"))).rows
    assert {row["report"] for row in added} == set(REPORTS)
    assert rows(tmp_path, "pairs") == before
    full = {(row["user_id"], row["page_views"], row["clicks"]) for row in before}
    assert full == {("ann", 1, 1), ("bob", 2, 0)}, "the events that were late for others are in their windows"
    assert_conserved(tmp_path)
