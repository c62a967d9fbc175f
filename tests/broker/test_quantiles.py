"""Quantiles of a field through a topic and a service: late events, corrections, restarts and cuts of batches."""

from collections.abc import Callable, Sequence
from decimal import Decimal
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

# The number of an event is the rest of its page: "/-1.5" has -1.5.
NUMBER = "substr(page_url, 2)"
MEASURES = {"seconds": {"quantiles": {"sql": NUMBER}, "at": [0.5, 0.95], "digits": 1}, "pages": {"unique": "page_url"}}
REPORTS: dict[str, dict[str, Any]] = {
    "site": {"keys": [], "measures": ["page_views", "seconds"]},
    "slides": {"keys": [], "measures": ["seconds"], "window": {"size": "20s", "slide": "10s"}},
    "grows": {"keys": [], "measures": ["seconds"], "window": {"size": "30s", "step": "10s"}},
    "visits": {"keys": ["user_id"], "measures": ["seconds", "pages"], "window": {"gap": "5s"}},
    "pairs": {"keys": ["user_id"], "measures": ["seconds"], "window": {"count": 2}},
}
TIME = {"bound": "0s", "allowed_lateness": "15s", "idle_timeout": "1h", "max_future_skew": "1h"}
# ASCII time line, in seconds, of the windows [0, 10) and [10, 20):
#   batch 1  ann 1: 2.0, ann 2: 9.9 twice, bob 3: no number, bob 14: 70000
#   batch 2  eve 24                               -> [0, 10) and [10, 20) fire
#   batch 3  cat 6: -1.5, cat 7: 0                -> [0, 10) fires again, in time by the allowed lateness
#   batch 4  eve 90                               -> all close
#   batch 5  dan 8: 3.1, dan 9: 3.2                         -> too late for all, until `correct`
STEPS = [
    [("ann", 1, "2.0"), ("ann", 2, "9.9"), ("ann", 2, "9.9"), ("bob", 3, "fast"), ("bob", 14, "70000")],
    [("eve", 24, "1")],
    [("cat", 6, "-1.5"), ("cat", 7, "0")],
    [("eve", 90, "1")],
    [("dan", 8, "3.1"), ("dan", 9, "3.2")],
]
Row = tuple[Any, ...]


def sent(steps: Sequence[Sequence[tuple[str, int, str]]]) -> list[list[Raw]]:
    return [[event(user, second * 1_000, page=f"/{number}") for user, second, number in step] for step in steps]


@pytest.fixture
def settings_in(broker: Cluster, make_topic: Callable[..., str]) -> Callable[[Path], Settings]:
    """Returns settings with a topic of their own, given the folder of the warehouse."""

    def made(warehouse: Path) -> Settings:
        topic = make_topic(1, **ANY_TIMESTAMP)
        window = {"size": "10s"}
        return settings_of(broker, topic, warehouse, time=TIME, window=window, measures=MEASURES, reports=REPORTS)

    return made


def run(settings: Settings, broker: Cluster, steps: list[list[Raw]], upkeep_batches: int = 100) -> None:
    tuning = Tuning(upkeep_batches=upkeep_batches, merged_runs=2)
    with open_service(settings, now=Clock(LATER), tuning=tuning) as service:
        take(service, broker, settings.kafka.topic, steps)


def published(settings: Settings, name: str, by: str = "window_start") -> dict[int, Row]:
    """Returns start in seconds, or end -> (median, 95 % quantile)."""
    return {
        milliseconds(row[by]) // 1_000: (row["seconds_p50"], row["seconds_p95"])
        for row in rows(Path(settings.warehouse), name)
    }


def test_late_events_corrections_and_cuts_change_quantiles_as_a_recount_does(
    broker: Cluster, settings_in: Callable[[Path], Settings], tmp_path: Path
) -> None:
    settings, steps = settings_in(tmp_path / "first"), sent(STEPS)
    run(settings, broker, steps[:2])
    # 700000 tenths are in the bucket of 696320 to 704511.
    high, two, one = Decimal("70041.6"), Decimal("2.0"), (Decimal("1.0"), Decimal("1.0"))
    assert published(settings, "site") == {0: (Decimal("9.9"), Decimal("9.9")), 10: (high, high)}
    run(settings, broker, steps[2:4], upkeep_batches=1)
    assert published(settings, "site") == {0: (Decimal("2.0"), Decimal("9.9")), 10: (high, high), 20: one}
    assert published(settings, "slides")[0] == (Decimal("2.0"), high)
    grown = {10: (two, Decimal("9.9")), 20: (two, high), 30: (two, high)}
    assert published(settings, "grows", by="window_end") == grown
    assert published(settings, "visits") == {
        1: (Decimal("9.9"), Decimal("9.9")),
        3: (None, None),
        6: (Decimal("-1.5"), Decimal("0.0")),
        14: (high, high),
        24: one,
    }
    assert published(settings, "pairs")[6] == (Decimal("-1.5"), Decimal("0.0"))
    run(settings, broker, steps[4:])
    apply_corrections(settings, LetterSelection())
    apply_corrections(settings, LetterSelection())
    assert published(settings, "site")[0] == (Decimal("3.1"), Decimal("9.9"))
    assert published(settings, "visits")[8] == (Decimal("3.1"), Decimal("3.2"))
    assert_conserved(Path(settings.warehouse))

    other = settings_in(tmp_path / "other")
    # Without the events that were too late for a while; in one batch and in another order.
    run(other, broker, [[*steps[4], *steps[2], *reversed(steps[0]), *steps[1]], steps[3]])
    assert published(other, "site") == published(settings, "site")
    for name in ("site", "slides", "grows", "visits"):
        sketches = [
            {(row["window_start"], row["window_end"], row.get("user_id")): row["seconds_sketch"] for row in found}
            for found in (rows(Path(each.warehouse), name) for each in (settings, other))
        ]
        assert sketches[0] == sketches[1], name
    assert_conserved(Path(other.warehouse))
