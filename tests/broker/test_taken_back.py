"""A watermark that is taken back, after an end of input or a wrong clock, takes nothing with it that still counts."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.live_views import READERS, cells
from tests.support.seeds import in_turn
from tests.support.services import ANY_TIMESTAMP, settings_of, take
from tests.support.topic_writer import Raw, event
from tests.support.warehouse import rows
from tidemark.pipeline.app import open_service
from tidemark.pipeline.cli import main
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tuning import Tuning

pytestmark = pytest.mark.broker

MakeTopic = Callable[..., str]
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
TIME = {"bound": "0s", "allowed_lateness": "0s", "idle_timeout": "1h", "max_future_skew": "1m"}
BY_USER: Mapping[str, Any] = {"page_views": {"keys": ["user_id"]}}
OF_SITE: Mapping[str, Any] = {"site_traffic": {}}
HOUR = (now_ms() // HOUR_MS + 2) * HOUR_MS
"""An hour that ends after the test."""
FIRST = [
    event("ann", HOUR + 21, event_id="1"),
    event("cid", HOUR + 22, event_id="2"),
    event("ann", HOUR + 23, event_id="3"),
]


def played(broker: Cluster, settings: Settings, *steps: list[Raw], ends: bool = False) -> None:
    """One service takes steps; `ends` ends its input."""
    with open_service(settings, tuning=Tuning(upkeep_batches=1, merged_runs=2)) as service:
        take(service, broker, settings.kafka.topic, list(steps))
        if ends:
            service.end_input()


def reset(warehouse: Path) -> None:
    assert main(["reset-watermark", "--warehouse", str(warehouse), "--yes"]) == 0


def views(warehouse: Path) -> dict[str, int]:
    return {row["user_id"]: row["page_views"] for row in rows(warehouse, "page_views")}


def test_ids_of_windows_that_open_again_are_remembered(broker: Cluster, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    settings = settings_of(
        broker, topic, tmp_path, time=TIME, window={"size": "1h"}, reports=BY_USER, deduplicate="event_id"
    )
    played(broker, settings, FIRST, ends=True)
    played(broker, settings)
    reset(tmp_path)
    played(broker, settings, [FIRST[-1]], [event("ann", HOUR + HOUR_MS, event_id="4")])
    assert views(tmp_path) == {"ann": 2, "cid": 1}
    assert_conserved(tmp_path)
    assert sum(row["duplicate"] for row in rows(tmp_path, "ledger")) == 1


@pytest.mark.parametrize(
    "steps",
    [
        "out in reset",
        pytest.param("out reset", marks=in_turn(0, 4)),
        pytest.param("reset out", marks=in_turn(2, 4)),
    ],
)
def test_a_report_that_was_dropped_counts_no_part_of_its_last_windows(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path, steps: str
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)

    def having(reports: Mapping[str, Any]) -> Settings:
        return settings_of(broker, topic, tmp_path, time=TIME, window={"size": "1h"}, reports=reports)

    played(broker, having({**BY_USER, **OF_SITE}), FIRST, ends=True)
    for step in steps.split():
        if step == "reset":
            reset(tmp_path)
        else:
            played(broker, having(OF_SITE if step == "out" else {**BY_USER, **OF_SITE}))
    for name, reader in READERS.items():
        shown = cells(reader(str(tmp_path), "page_views"), "state", "user_id", "page_views")
        assert sorted(shown) == [("closed", "ann", 2), ("closed", "cid", 1)], name
    more = [event("ann", HOUR + 26), event("bob", HOUR + 27), event("bob", HOUR + HOUR_MS)]
    played(broker, having({**BY_USER, **OF_SITE}), more, [event("eve", HOUR + 3 * HOUR_MS)])
    found = [(row["user_id"], row["page_views"]) for row in rows(tmp_path, "page_views")]
    assert sorted(found) == [("ann", 2), ("bob", 1), ("cid", 1)], "two of before it was dropped, and one of after that"
    assert_conserved(tmp_path)


def test_rows_of_an_ended_topic_age_by_its_own_time(broker: Cluster, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic, old = make_topic(1, **ANY_TIMESTAMP), HOUR - 730 * DAY_MS
    retention = {"page_views": {"rows": "30d"}}
    settings = settings_of(
        broker, topic, tmp_path, time=TIME, window={"size": "1h"}, reports=BY_USER, retention=retention
    )
    played(broker, settings, [event("ann", old)], [event("bob", old + 40 * DAY_MS)], ends=True)
    played(broker, settings, [event("eve", old)])
    assert views(tmp_path) == {"bob": 1}
