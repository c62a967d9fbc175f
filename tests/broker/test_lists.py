"""Lists of a window's texts through a topic and a service: late events, corrections, restarts and cuts of batches."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.services import ANY_TIMESTAMP, LATER, Clock, settings_of, take
from tests.support.topic_writer import Raw, event
from tests.support.warehouse import milliseconds, rows
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.app import open_service
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tuning import Tuning

pytestmark = pytest.mark.broker

MEASURES = {"way": {"path": "page_url", "most": 4}, "seen": {"collect_set": "page_url", "most": 3}}
REPORTS: dict[str, dict[str, Any]] = {
    "site": {"keys": [], "measures": ["page_views", "way", "seen"]},
    "slides": {"keys": [], "measures": ["way"], "window": {"size": "20s", "slide": "10s"}},
    "visits": {"keys": ["user_id"], "measures": ["way", "seen"], "window": {"gap": "5s"}},
    "tops": {"keys": ["page"], "measures": ["page_views", "way"]},
    "pairs": {"keys": ["user_id"], "measures": ["way", "seen"], "window": {"count": 2}},
}
DIMENSIONS = {"page": {"path": "page_url", "top": 1}}
TIME = {"bound": "0s", "allowed_lateness": "15s", "idle_timeout": "1h", "max_future_skew": "1h"}
# ASCII time line, in seconds, of the windows [0, 10) and [10, 20); partition 1 has the events of bob:
#   batch 1  ann 1: /c, bob 3: /e, bob 3: /a, ann 3: /d, bob 14: /z
#   batch 2  eve 21                     -> [0, 10) and [10, 20) fire
#   batch 3  ann 2: /b, ann 7: /b       -> [0, 10) fires again, in time by the allowed lateness
#   batch 4  eve 90                     -> all close
#   batch 5  dan 0.5: /y, dan 3: /0     -> too late for all, until `correct`
Sent = tuple[str, float, str]
STEPS: list[list[Sent]] = [
    [("ann", 1, "/c"), ("bob", 3, "/e"), ("bob", 3, "/a"), ("ann", 3, "/d"), ("bob", 14, "/z")],
    [("eve", 21, "/"), ("bob", 21, "/")],
    [("ann", 2, "/b"), ("ann", 7, "/b")],
    [("eve", 90, "/"), ("bob", 90, "/")],
    [("dan", 0.5, "/y"), ("dan", 3, "/0")],
]


def sent(steps: Sequence[Sequence[Sent]]) -> list[list[Raw]]:
    return [
        [event(user, round(second * 1_000), page=page, partition=int(user == "bob")) for user, second, page in step]
        for step in steps
    ]


@pytest.fixture
def settings_in(broker: Cluster, make_topic: Callable[..., str]) -> Callable[[Path], Settings]:
    """Returns settings with a topic of their own, given the folder of the warehouse."""

    def made(warehouse: Path) -> Settings:
        topic = make_topic(2, **ANY_TIMESTAMP)
        sections = {"dimensions": DIMENSIONS, "measures": MEASURES, "reports": REPORTS, "window": {"size": "10s"}}
        return settings_of(broker, topic, warehouse, time=TIME, **sections)

    return made


def run(settings: Settings, broker: Cluster, steps: list[list[Raw]], upkeep_batches: int = 100) -> None:
    tuning = Tuning(upkeep_batches=upkeep_batches, merged_runs=2)
    with open_service(settings, now=Clock(LATER), tuning=tuning) as service:
        take(service, broker, settings.kafka.topic, steps)


def published(settings: Settings, name: str, measure: str) -> dict[float, tuple[str, int]]:
    """Returns start in seconds -> (the listed pages as one text, what is left out)."""
    return {
        milliseconds(row["window_start"]) / 1_000: ("".join(row[measure]), row[f"{measure}_cut"])
        for row in rows(Path(settings.warehouse), name)
    }


def test_late_events_corrections_and_cuts_change_lists_as_a_recount_does(
    broker: Cluster, settings_in: Callable[[Path], Settings], tmp_path: Path
) -> None:
    settings, steps = settings_in(tmp_path / "first"), sent(STEPS)
    run(settings, broker, steps[:2])
    # At 3 seconds there are ann's page of partition 0 and bob's of partition 1.
    assert published(settings, "site", "way") == {0: ("/c/d/e/a", 0), 10: ("/z", 0)}
    assert published(settings, "site", "seen") == {0: ("/a/c/d", 1), 10: ("/z", 0)}
    run(settings, broker, steps[2:4], upkeep_batches=1)
    assert published(settings, "site", "way") == {0: ("/c/b/d/e", 2), 10: ("/z", 0), 20: ("//", 0)}
    assert published(settings, "site", "seen") == {0: ("/a/b/c", 1), 10: ("/z", 0), 20: ("/", 0)}
    assert published(settings, "slides", "way")[0] == ("/c/b/d/e", 3)
    assert published(settings, "visits", "way")[1] == ("/c/b/d/b", 0)
    assert published(settings, "visits", "seen")[1] == ("/b/c/d", 0)
    # Windows of count have their events in the order of arrival, and list them in that of their times.
    assert published(settings, "pairs", "way")[2] == ("/b/b", 0)
    largest = [(row["page"], "".join(row["way"])) for row in rows(Path(settings.warehouse), "tops")]
    assert {*largest} >= {("/b", "/b/b"), (None, "/c/d/e/a")}
    run(settings, broker, steps[4:])
    apply_corrections(settings, LetterSelection())
    apply_corrections(settings, LetterSelection())
    assert published(settings, "site", "way")[0] == ("/y/c/b/d", 4)
    assert published(settings, "site", "seen")[0] == ("/0/a/b", 1)
    assert published(settings, "visits", "way")[0.5] == ("/y/0", 0)
    assert_conserved(Path(settings.warehouse))

    other = settings_in(tmp_path / "other")
    # Without the events that were too late for a while; in one batch, each partition in its order.
    first = [each for step in (steps[0], steps[2], steps[4], steps[1]) for each in step]
    run(other, broker, [first, steps[3]])
    for name in ("site", "slides", "visits"):
        for measure in {*REPORTS[name]["measures"]} - {"page_views"}:
            assert published(other, name, measure) == published(settings, name, measure), (name, measure)
    assert_conserved(Path(other.warehouse))
