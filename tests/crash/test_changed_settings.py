"""Closed windows stay closed, whatever the settings of the next start."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.crash.store_faults import Refusal, refusing
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import drawn
from tests.support.services import ANY_TIMESTAMP, Clock, settings_of
from tests.support.topic_writer import event, send
from tests.support.warehouse import latest_batch, milliseconds, page_views, rows
from tidemark.pipeline.app import open_service
from tidemark.pipeline.errors import TransientError
from tidemark.pipeline.results import layout
from tidemark.pipeline.tuning import Tuning

pytestmark = pytest.mark.broker

MakeTopic = Callable[..., str]
START = 1_000_000
UPKEEP_AT_ONCE = Tuning(upkeep_batches=1, merged_runs=2)
"""Panes are swept after every batch."""
TIME = {"bound": "0s", "allowed_lateness": "0s", "idle_timeout": "1h", "max_future_skew": "1h"}
BOTH = {"page_views": {"keys": ["user_id"]}, "visits": {"keys": ["user_id"], "window": {"gap": "2s"}}}


class Life:
    """A topic and a warehouse, and services of different settings on them."""

    def __init__(self, broker: Cluster, topic: str, warehouse: Path) -> None:
        self._broker, self._topic, self.warehouse = broker, topic, warehouse
        self.clock = Clock(START)

    def live(self, batches: Sequence[float | tuple[float, ...]], **changed: Any) -> None:
        """A service takes events of ann at these seconds, one or several in a batch; `changed` are settings."""
        reports = changed.pop("reports", BOTH)
        settings = settings_of(
            self._broker, self._topic, self.warehouse, window={"size": "10s"}, reports=reports, time=TIME | changed
        )
        with open_service(settings, now=self.clock, tuning=UPKEEP_AT_ONCE) as service:
            for batch in batches:
                times = [START + round(second * 1000) for second in (batch if isinstance(batch, tuple) else (batch,))]
                self.clock.now_ms = max(self.clock.now_ms, *times)
                send(self._broker.bootstrap_servers, self._topic, [event("ann", time) for time in times])
                service.drain()

    def shown(self, name: str) -> list[str]:
        """Returns the rows that a report shows, but for the batches that published them."""
        return sorted(str({**row, "published_batch": 0}) for row in rows(self.warehouse, name))

    def dead(self) -> list[int]:
        """Seconds of the dead letters."""
        return sorted((row["event_time"] - START) // 1000 for row in rows(self.warehouse, "dead_letters"))

    @property
    def watermark(self) -> int:
        """In milliseconds after the start of the story."""
        return int(latest_batch(self.warehouse)[0]["watermark"]) - START


@pytest.fixture
def life(broker: Cluster, make_topic: MakeTopic, tmp_path: Path) -> Life:
    return Life(broker, make_topic(1, **ANY_TIMESTAMP), tmp_path)


@pytest.mark.core
def test_a_longer_allowed_lateness_opens_no_window_and_no_session_again(life: Life) -> None:
    life.live([(1, 5), (11, 15), (21, 25), 31])
    before = {name: life.shown(name) for name in BOTH}
    life.live([(2, 6, 22)], allowed_lateness="60s")
    assert {name: life.shown(name) for name in BOTH} == before
    assert life.dead() == [2, 6, 22]
    # Windows that close from this point on have the new lateness.
    life.live([41, 32], allowed_lateness="60s")
    assert page_views(life.warehouse)["ann", START + 30_000, START + 40_000] == (2, 0, 1)
    assert life.dead() == [2, 6, 22]
    assert_conserved(life.warehouse)


def test_a_shorter_allowed_lateness_keeps_what_is_shown(life: Life) -> None:
    life.live([(1, 5), 11, 3, 16], allowed_lateness="60s")
    before = {name: life.shown(name) for name in BOTH}
    life.live([4], allowed_lateness="0s")
    assert life.dead() == [4]
    assert {name: life.shown(name) for name in BOTH} == before
    assert_conserved(life.warehouse)


def test_a_report_that_was_away_keeps_what_it_had_shown(life: Life) -> None:
    life.live([(1, 5), (11, 15)], allowed_lateness="60s")
    life.live([21], allowed_lateness="60s", reports={"visits": BOTH["visits"]})
    life.live([2, 12, 31], allowed_lateness="60s")
    assert page_views(life.warehouse) == {
        ("ann", START, START + 10_000): (2, 0, 0),
        # The window that was open when the report was removed has the events since its return.
        ("ann", START + 10_000, START + 20_000): (1, 0, 1),
    }


def test_the_last_events_outlive_the_service_and_begin_again_when_their_report_was_away(life: Life) -> None:
    last = {**BOTH, "last": {"keys": ["user_id"], "window": {"count": 3, "slide": 1}}}
    life.live([(1, 2), (3, 4)], reports=last)
    life.live([(5, 6)], reports=last)
    life.live([7])
    life.live([(8, 9)], reports=last)
    windows = sorted(
        ((milliseconds(row["window_start"]) - START) // 1000, row["page_views"]) for row in rows(life.warehouse, "last")
    )
    assert windows == [(1, 1), (1, 2), (1, 3), (2, 3), (3, 3), (4, 3), (8, 1), (8, 2)]
    assert_conserved(life.warehouse)


def test_a_report_that_goes_shows_what_had_fired_and_was_not_published(life: Life) -> None:
    life.live([1])
    with refusing(life.warehouse, [Refusal("page_views", "published_batch < 0")]), pytest.raises(TransientError):
        life.live([11])
    assert page_views(life.warehouse) == {}
    life.live([], reports={"visits": BOTH["visits"]})
    assert page_views(life.warehouse) == {("ann", START, START + 10_000): (1, 0, 0)}
    assert_conserved(life.warehouse)


def test_a_report_may_go_again_of_which_a_start_that_was_cut_off_made_no_table(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(*_: object, **__: object) -> None:
        raise OSError("the power is gone")

    life.live([1])
    with monkeypatch.context() as patched:
        patched.setattr(layout, "create_tables", cut_off)
        with pytest.raises(OSError, match="power"):
            life.live([], reports={**BOTH, "new": {}})
    life.live([11])
    assert page_views(life.warehouse) == {("ann", START, START + 10_000): (1, 0, 0)}


@pytest.mark.parametrize(
    "changed",
    drawn(
        [{"strategy": "punctuated", "marker": "event_type = 'click'"}, {"of": "ingestion", "max_future_skew": "1d"}], 1
    ),
    ids=["strategy", "time_of"],
)
def test_an_event_time_of_before_does_not_make_the_watermark_jump(life: Life, changed: dict[str, str]) -> None:
    life.live([(1, 5), 40], bound="30s")
    assert life.watermark == 10_000
    life.live([41], bound="30s", **changed)
    assert life.watermark <= 11_000
    assert_conserved(life.warehouse)


def test_totals_of_all_time_outlive_their_settings(
    life: Life, broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    for second, more in [(1, {"totals": {"gap": "1s"}}), (11, {}), (31, {"totals": {"gap": "1s"}})]:
        settings = settings_of(broker, topic, tmp_path / "totals", window={"size": "10s"}, time=TIME, **more)
        send(broker.bootstrap_servers, topic, [event("ann", START + second * 1000)])
        with open_service(settings, now=life.clock, tuning=UPKEEP_AT_ONCE) as service:
            service.drain()
    (ann,) = rows(tmp_path / "totals", "user_totals")
    # The event of second 11 came while there were no totals; that of 31 is yet to be written.
    assert (ann["page_views"], ann["sessions"]) in {(1, 1), (2, 2)}
