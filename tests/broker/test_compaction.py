"""Compaction changes no result, whatever the windows, and leaves one row for each pane and key."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import in_turn
from tests.support.services import ANY_TIMESTAMP, LATER, Clock, settings_of
from tests.support.topic_writer import event, json_event, send
from tests.support.waiting import wait_for
from tests.support.warehouse import latest_batch, records, rows
from tests.transcripts.random_transcript import random_transcript
from tidemark.pipeline.app import open_service
from tidemark.pipeline.event_time.firing import Firing
from tidemark.pipeline.results.publication import Publication
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tuning import STANDARD, Tuning

pytestmark = pytest.mark.broker

REPORTS: dict[str, dict[str, Any]] = {
    "page_views": {"keys": ["user_id"]},
    "sliding": {"keys": ["event_type"], "measures": ["page_views", "events"], "window": {"size": "20s", "slide": "5s"}},
    "growing": {"keys": ["page_url"], "window": {"size": "40s", "step": "10s"}},
    "days": {"window": {"size": "1d", "zone": "Europe/Berlin"}, "allowed_lateness": "0s"},
    "sessions": {"keys": ["user_id"], "measures": ["events"], "window": {"gap": "7s"}, "allowed_lateness": "3s"},
    "threes": {"keys": ["user_id"], "window": {"count": 3}},
    "last_fours": {"keys": ["user_id"], "window": {"count": 4, "slide": 3}},
    "last_twos": {"keys": ["page_url"], "where": "event_type = 'click'", "window": {"count": 2, "slide": 1}},
    "clicks": {"keys": ["user_id", "page_url"], "where": "event_type = 'click'"},
    "visitors": {"measures": ["unique_users"], "window": {"size": "20s", "slide": "10s"}},
    "landings": {"keys": ["page_url"], "measures": ["unique_users", "sessions_begun"], "session_gap": "7s"},
}
PATIENCE_S = 600
TIME = {"bound": "5s", "allowed_lateness": "15s", "idle_timeout": "30s", "max_future_skew": "1m"}


@pytest.mark.long
@pytest.mark.parametrize(
    "names",
    [pytest.param([*REPORTS][::2], marks=in_turn(1, 4)), pytest.param([*REPORTS][1::2], marks=in_turn(3, 4))],
    ids=["even", "odd"],
)
def test_every_table_is_the_same_with_and_without(
    names: list[str], broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    """With half of the reports in each run."""
    settings = partial(settings_for, broker, names)
    plain = played(broker, settings(make_topic(3, **ANY_TIMESTAMP), tmp_path / "plain"), STANDARD, restart=False)
    tuning = Tuning(upkeep_batches=1, merged_runs=2, statement_rows=3)
    compacted = played(broker, settings(make_topic(3, **ANY_TIMESTAMP), tmp_path / "compacted"), tuning, restart=True)
    for name in names:
        assert published(compacted, name) == published(plain, name), name
        assert len(published(plain, name)) > 1 or name == "days"
    days = [row for row in rows(compacted, "panes") if row["report"] == "days"]
    assert len(days) == len({row["pane_start"] for row in days})
    assert len(rows(compacted, "panes")) < len(rows(plain, "panes")) / 2


def settings_for(broker: Cluster, names: list[str], topic: str, warehouse: Path) -> Settings:
    reports = {name: REPORTS[name] for name in names}
    kinds = {kind: kind for kind in ("visit", "click", "login", "purchase")}
    schemas = {"format": "json", "mapping": {"kinds": kinds}}
    return settings_of(broker, topic, warehouse, time=TIME, window={"size": "10s"}, reports=reports, schemas=schemas)


def played(broker: Cluster, settings: Settings, tuning: Tuning, *, restart: bool) -> Path:
    """A random stream, one batch for each step; with a restart in the middle, or in one go."""
    warehouse = Path(settings.warehouse)
    clock = Clock(LATER)  # nothing is merged for good beyond the service's clock
    steps = random_transcript(seed=3, steps=10).steps
    halves = [steps[:5], steps[5:]] if restart else [steps]
    for half in halves:
        with open_service(settings, now=clock, tuning=tuning) as service:
            for step in half:
                clock.move(step.wait_ms)
                sent = [
                    json_event(one.user, one.event_time, one.act, one.partition, one.stamp, one.page)
                    for one in step.send
                ]
                send(broker.bootstrap_servers, settings.kafka.topic, sent)
                service.drain()
    assert_conserved(warehouse)
    return warehouse


def published(warehouse: Path, name: str) -> list[str]:
    """A result table but for the ids of batches, which a restart changes, and the order of users in a sketch."""
    found = rows(warehouse, name)
    return sorted(
        str({**row, "published_batch": 0, "users_sketch": sorted(row.get("users_sketch", b""))}) for row in found
    )


def test_panes_are_merged_though_the_publisher_is_never_idle(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish, files, warehouse = Publication.publish, list[int](), tmp_path / "warehouse"

    def busy(publication: Publication, firings: Mapping[str, Firing], batch: int) -> None:
        """Takes longer than the next two batches do."""
        publish(publication, firings, batch)
        files.append(len(DeltaTable(str(warehouse / "panes")).file_uris()))
        wait_for(
            lambda: latest_batch(warehouse)[0]["batch"] > batch + 1 or records(warehouse) == 60,
            PATIENCE_S,
            "the next batches",
        )

    monkeypatch.setattr(Publication, "publish", busy)
    topic, clock = make_topic(1, **ANY_TIMESTAMP), Clock()
    # A window each, closed by the next.
    send(broker.bootstrap_servers, topic, [event("ann", clock() + second * 10_000) for second in range(60)])
    settings = settings_of(
        broker,
        topic,
        warehouse,
        time={"bound": "0s", "allowed_lateness": "0s", "max_future_skew": "1h"},
        window={"size": "10s"},
        reports={"page_views": {"keys": ["user_id"]}},
        batch={"max_records": 1},
    )
    with open_service(settings, now=clock, tuning=Tuning(upkeep_batches=4, merged_runs=2)) as service:
        service.drain()
    assert_conserved(warehouse)
    assert len(files) > 10
    assert max(files) < 50, files  # one each batch, unless they are merged
