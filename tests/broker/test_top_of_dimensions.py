"""A dimension with a `top` through a service: late events change the ranking, and what is not exact is refused."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.live_views import READERS
from tests.support.services import ANY_TIMESTAMP, LATER, Clock, settings_of, take
from tests.support.topic_writer import Raw
from tests.support.warehouse import milliseconds, rows
from tidemark.pipeline.amend.correction_run import correct
from tidemark.pipeline.amend.erase.erasure import erase_person
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.app import open_service
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.settings.model import Settings

pytestmark = pytest.mark.broker
SECTIONS: Final[dict[str, Any]] = {
    "schemas": {"format": "json"},
    "time": {"bound": "0s", "allowed_lateness": "5s", "idle_timeout": "1h", "max_future_skew": "1h"},
    "window": {"size": "10s"},
    "dimensions": {"plan": {"path": "traits.plan", "top": 2}},
    "measures": {"second": {"quantiles": "second", "at": [0.5]}},
    "reports": {"plans": {"keys": ["plan"], "measures": ["page_views", "second"]}, "site": {}},
}
#  the window [0 s, 10 s) fires with the event at 12 s, again with two late events of c, and closes with that at 16 s
STEPS: Final = (
    [(1, "a"), (2, "a"), (3, "a"), (4, None), (5, None), (6, "(other)"), (7, "c")],
    [(12, "a")],
    [(8, "c"), (9, "c")],
    [(16, "b")],
    [(2, "c"), (17, "c"), (18, "b")],
)
FIRED: Final = {("a", 0, 3), (None, 0, 2), (None, 2, 2)}
AGAIN: Final = {("a", 0, 3), ("c", 0, 3), (None, 2, 3)}


def record(second: int, plan: str | None) -> Raw:
    traits = {"traits": {"plan": plan}} if plan else {}
    time = second * 1_000
    event = {"event_type": "visit", "user_id": "ann", "page_url": "/", "event_time": time, "second": second, **traits}
    return Raw(json.dumps(event).encode(), timestamp_ms=time)


def first_window(settings: Settings) -> set[tuple[Any, ...]]:
    """Returns the rows of the window [0 s, 10 s): value, number of others, visits."""
    found = (row for row in rows(settings.warehouse, "plans") if milliseconds(row["window_end"]) == 10_000)
    return {(row["plan"], row["plan_others"], row["page_views"]) for row in found}


def median_of_others(settings: Settings) -> float:
    """Returns the median of the seconds of all other values in the window [0 s, 10 s)."""
    found = (row for row in rows(settings.warehouse, "plans") if milliseconds(row["window_end"]) == 10_000)
    (median,) = (row["second_p50"] for row in found if row["plan_others"])
    return float(median)


def test_late_events_change_which_values_are_the_largest(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    settings = settings_of(broker, topic, tmp_path / "warehouse", **SECTIONS)
    sent = [[record(second, plan) for second, plan in step] for step in STEPS]
    with open_service(settings, now=Clock(LATER)) as service:
        take(service, broker, topic, sent[:2])
        assert first_window(settings) == FIRED
        assert median_of_others(settings) == 6
        take(service, broker, topic, sent[2:3])
        assert first_window(settings) == AGAIN
        assert median_of_others(settings) == 5
        assert_conserved(settings.warehouse)
    with open_service(settings, now=Clock(LATER)) as service:
        take(service, broker, topic, sent[3:])
    assert_conserved(settings.warehouse)
    _check_live(settings)
    _check_corrected(settings, capsys)
    erase_person(settings, "ann", timedelta(0))
    assert first_window(settings) == AGAIN
    assert_conserved(settings.warehouse)
    _check_another_top(broker, settings)


def _check_live(settings: Settings) -> None:
    """Each value of the open window has a row, also a third."""
    for read in READERS.values():
        live = {
            (row["plan"], row["plan_others"], row["page_views"])
            for row in read(settings.warehouse, "plans").to_pylist()
            if row["state"] == "open"
        }
        assert live == {("a", 0, 1), ("b", 0, 2), ("c", 0, 1)}


def _check_corrected(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """The event that was too late is added to the report without a top alone."""
    correct(settings, LetterSelection(), dry_run=True)
    assert "Cannot be added: 1 event of plans, whose closed windows" in capsys.readouterr().out
    outcome = apply_corrections(settings, LetterSelection())
    assert [row["report"] for row in outcome.rows] == ["site"]
    assert outcome.uncorrectable == {"plans": 1}
    assert first_window(settings) == AGAIN
    assert_conserved(settings.warehouse)


def _check_another_top(broker: Cluster, settings: Settings) -> None:
    dimensions = {"plan": {"path": "traits.plan", "top": 3}}
    other = settings_of(
        broker, settings.kafka.topic, Path(settings.warehouse), **{**SECTIONS, "dimensions": dimensions}
    )
    with pytest.raises(SetUpError, match=r"report plans .* was made with .* top 2, but the settings say .* top 3\."):
        open_service(other, now=Clock(LATER)).__enter__()
