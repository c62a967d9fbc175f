"""Too-late events are added to the closed windows they belong to: each once, whichever process dies on the way."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake.exceptions import DeltaError

from tests.crash.store_faults import Refusal, refusing
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.services import ANY_TIMESTAMP, Clock, settings_of, take
from tests.support.topic_writer import event, send
from tests.support.warehouse import forget, milliseconds, rows
from tidemark.pipeline.amend.correction_run import correct
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.app import open_service
from tidemark.pipeline.settings.model import Settings

pytestmark = pytest.mark.broker

REPORTS: dict[str, dict[str, Any]] = {
    "page_views": {"keys": ["user_id"]},
    "clicks": {"where": "event_type = 'click'", "window": {"size": "20s"}},
    "sessions": {"keys": ["user_id"], "window": {"gap": "5s"}},
}
TIME = {"bound": "0s", "allowed_lateness": "0s", "idle_timeout": "1h", "max_future_skew": "1h"}


@pytest.fixture(scope="module")
def played(broker: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Windows of 10 s; after the watermark has come to 50 s, five events come too late, for one report or for all."""
    warehouse = tmp_path_factory.mktemp("late")
    topic = f"correct-{warehouse.parent.name}"
    broker.create_topic(topic, 1, **ANY_TIMESTAMP)
    settings = settings_of(broker, topic, warehouse, time=TIME, window={"size": "10s"}, reports=REPORTS)
    steps = [
        [event("ann", 12_000), event("ann", 18_000), event("bob", 31_000, "click")],
        [event("bob", 50_000)],
        # Between ann's two sessions; in a window of its own; another user's; and one for the session only.
        [event("ann", 15_000), event("ann", 1_000, "click"), event("cat", 33_000, "click"), event("bob", 47_000)],
        [event("bob", 90_000)],
    ]
    with open_service(settings, now=Clock()) as service:
        take(service, broker, topic, steps)
    return settings


@pytest.fixture
def late(played: Settings, tmp_path: Path) -> Iterator[Settings]:
    """A copy of the warehouse."""
    shutil.copytree(played.warehouse, tmp_path / "warehouse")
    forget()  # copies have the same tables and versions
    yield played.model_copy(update={"warehouse": str(tmp_path / "warehouse")})
    assert_conserved(tmp_path / "warehouse")


def published(settings: Settings, name: str) -> dict[tuple[Any, ...], tuple[int, int, int]]:
    """(keys..., start, end) -> page views, clicks, late events."""
    keys = REPORTS[name].get("keys", [])
    return {
        (*(row[key] for key in keys), milliseconds(row["window_start"]), milliseconds(row["window_end"])): (
            row["page_views"],
            row["clicks"],
            row["late_events"],
        )
        for row in rows(Path(settings.warehouse), name)
    }


CORRECTED_VIEWS = {
    ("ann", 0, 10_000): (0, 1, 1),
    ("ann", 10_000, 20_000): (3, 0, 1),
    ("bob", 30_000, 40_000): (0, 1, 0),
    ("cat", 30_000, 40_000): (0, 1, 1),
    ("bob", 40_000, 50_000): (1, 0, 1),
    ("bob", 50_000, 60_000): (1, 0, 0),
}
CORRECTED_CLICKS = {(0, 20_000): (0, 1, 1), (20_000, 40_000): (0, 2, 1)}


def assert_corrected(settings: Settings) -> None:
    assert published(settings, "page_views") == CORRECTED_VIEWS
    assert published(settings, "clicks") == CORRECTED_CLICKS
    sessions = published(settings, "sessions")
    assert sessions["ann", 12_000, 23_000] == (3, 0, 1), "the late event joins two sessions to one"
    assert not {key for key in sessions if key[:2] == ("ann", 18_000)}, "the superseded row is gone"
    assert sessions["ann", 1_000, 6_000] == (0, 1, 1)


@pytest.mark.core
def test_late_events_are_added_once_however_often_it_is_done(late: Settings) -> None:
    before = published(late, "page_views")
    foretold = apply_corrections(late, LetterSelection(), dry_run=True).rows
    assert not Path(late.warehouse, "corrections").exists(), "a dry run creates no table"
    assert published(late, "page_views") == before, "a dry run changes nothing"
    assert apply_corrections(late, LetterSelection()).rows == foretold
    assert_corrected(late)
    assert apply_corrections(late, LetterSelection()).rows == []
    assert_corrected(late)


def test_settings_that_name_no_reports_correct_those_of_the_warehouse(late: Settings) -> None:
    apply_corrections(Settings(warehouse=late.warehouse, spark=late.spark), LetterSelection())
    assert_corrected(late)


def test_late_events_are_added_after_the_end_of_the_input(late: Settings) -> None:
    with open_service(late, now=Clock()) as service:
        service.end_input()
    apply_corrections(late, LetterSelection())
    both = [row for row in published(late, "page_views") if row[0] == "bob" and row[1] == 90_000]
    assert both == [("bob", 90_000, 100_000)]
    sessions = published(late, "sessions")
    assert sessions["ann", 12_000, 23_000] == (3, 0, 1)
    assert published(late, "clicks") == CORRECTED_CLICKS


def test_a_run_that_was_killed_between_its_steps_is_finished_by_the_next(late: Settings) -> None:
    for table in ("page_views", "sessions"):
        refusal = Refusal(table, "late_events = 0")
        with refusing(Path(late.warehouse), [refusal]), pytest.raises(DeltaError, match="failed validation check"):
            apply_corrections(late, LetterSelection())
    apply_corrections(late, LetterSelection())
    assert_corrected(late)


def test_filters_choose_and_the_rest_may_follow(late: Settings) -> None:
    apply_corrections(late, LetterSelection(users=("cat",)))
    apply_corrections(late, LetterSelection(since=15_000, until=15_001))
    found = published(late, "page_views")
    assert found["cat", 30_000, 40_000] == (0, 1, 1)
    assert found["ann", 10_000, 20_000] == (3, 0, 1)
    assert ("ann", 0, 10_000) not in found
    apply_corrections(late, LetterSelection())
    assert_corrected(late)


def test_the_service_goes_on_and_starts_again_without_undoing_it(late: Settings, broker: Cluster) -> None:
    with open_service(late, now=Clock()) as service:
        apply_corrections(late, LetterSelection())
        send(broker.bootstrap_servers, late.kafka.topic, [event("bob", 120_000)])
        service.drain()
    with open_service(late, now=Clock()) as service:
        service.drain()
    found = published(late, "page_views")
    assert {key: found[key] for key in CORRECTED_VIEWS} == CORRECTED_VIEWS
    assert published(late, "clicks") == CORRECTED_CLICKS
    assert published(late, "sessions")["ann", 12_000, 23_000] == (3, 0, 1)


#   seconds  12  14* 16  20  24  28  32  36  40  44* 47  48  50  54  100   * comes too late: its part ends by 50
#   ann      +---*---+---+---+---+---+---+---+---+-------+---+---+         her session goes on
#   bob                                          *   +                     at 47 he is in time: 47 + 5 > 50
@pytest.mark.core
def test_an_event_waits_while_it_may_meet_a_session_that_goes_on(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    settings = settings_of(broker, topic, tmp_path, time=TIME, window={"size": "10s"}, reports=REPORTS)
    goes_on = [event("ann", second * 1_000) for second in (*range(12, 52, 4), 50)]
    with open_service(settings, now=Clock()) as service:
        take(service, broker, topic, [goes_on, [event("ann", 14_000), event("bob", 44_000)]])
        correct(settings, LetterSelection(), dry_run=False)
        said = capsys.readouterr().out
        assert "Waiting for final windows: 2 events of sessions" in said
        assert not published(settings, "sessions")
        take(service, broker, topic, [[event("bob", 47_000)], [event("ann", 54_000)], [event("cat", 100_000)]])
    assert {row["report"] for row in apply_corrections(settings, LetterSelection()).rows} == {"page_views", "sessions"}
    assert published(settings, "sessions") == {("ann", 12_000, 59_000): (13, 0, 1), ("bob", 44_000, 52_000): (2, 0, 1)}
    assert_conserved(tmp_path)
