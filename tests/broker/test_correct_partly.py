"""An event that missed some of its windows is added to these, and not again to those in which it counts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.services import ANY_TIMESTAMP, Clock, settings_of
from tests.support.topic_writer import event, send
from tests.support.warehouse import milliseconds, rows
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.app import open_service
from tidemark.pipeline.settings.model import Settings

pytestmark = pytest.mark.broker

TIME = {"bound": "0s", "allowed_lateness": "0s", "idle_timeout": "1h", "max_future_skew": "1h"}


def played(settings: Settings, broker: Cluster, *steps: list[tuple[str, int]]) -> None:
    """A life of the service: users and seconds, a batch for each step."""
    with open_service(settings, now=Clock()) as service:
        for step in steps:
            send(broker.bootstrap_servers, settings.kafka.topic, [event(user, at * 1_000) for user, at in step])
            service.drain()


def published(settings: Settings, name: str) -> dict[int, tuple[int, int]]:
    """Start in seconds -> page views, late events."""
    found = rows(Path(settings.warehouse), name)
    return {milliseconds(row["window_start"]) // 1_000: (row["page_views"], row["late_events"]) for row in found}


def reasons(settings: Settings) -> list[str]:
    return [row["reason"] for row in rows(Path(settings.warehouse), "dead_letters")]


def test_of_windows_that_overlap_those_it_missed(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    reports = {"sliding": {"window": {"size": "20s", "slide": "5s"}}}
    settings = settings_of(broker, make_topic(1, **ANY_TIMESTAMP), tmp_path, time=TIME, reports=reports)
    # The last one belongs to windows that begin at -5, 0, 5 and 10 s, of which the first two have closed by 21 s.
    played(settings, broker, [("ann", 14)], [("ann", 21)], [("bob", 13)], [("ann", 60)])
    assert reasons(settings) == ["partly_late"]
    before = published(settings, "sliding")
    assert (before[-5], before[0], before[5], before[10]) == ((1, 0), (1, 0), (3, 0), (3, 0))
    assert len(apply_corrections(settings, LetterSelection()).rows) == 2
    assert apply_corrections(settings, LetterSelection()).rows == []
    assert published(settings, "sliding") == {**before, -5: (2, 1), 0: (2, 1)}
    assert_conserved(tmp_path)


def test_as_they_were_when_it_came(broker: Cluster, make_topic: Callable[..., str], tmp_path: Path) -> None:
    """Allowed lateness may change, and reports may come later: neither makes an event count twice, or from before."""

    def settings(**reports: Any) -> Settings:
        return settings_of(broker, topic, tmp_path, time=TIME, window={"size": "10s"}, reports=reports)

    topic, strict = make_topic(1, **ANY_TIMESTAMP), {"keys": ["user_id"]}
    patient = {"allowed_lateness": "1m"}
    played(settings(strict=strict, patient=patient), broker, [("ann", 14)], [("ann", 30)], [("ann", 15)])
    later = settings(strict=strict, patient={}, newcomer={})
    played(later, broker, [("ann", 200)])
    assert published(later, "patient")[10] == (2, 1)
    assert [row["report"] for row in apply_corrections(later, LetterSelection()).rows] == ["strict"]
    assert (published(later, "strict")[10], published(later, "patient")[10]) == ((2, 1), (2, 1))
    assert 10 not in published(later, "newcomer")
    assert_conserved(tmp_path)
