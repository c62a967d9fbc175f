"""A short stream in four steps, and the tables that it must end with, whatever happens on the way.

Windows of 3 s, a bound of 1 s, allowed lateness of 2 s. The clock does not move, so results do not
depend on the time of a step, and steps can be repeated.

    step 1:  [0, 3) and [3, 6) get events             W = 3.5 s: [0, 3) fires
    step 2:  [0, 3) gets a late event, [6, 9) opens   W = 6 s: [0, 3) fires again and closes, [3, 6) fires
    step 3:  [3, 6) and too late [0, 3) get an event  W = 10 s: [3, 6) fires again and closes, [6, 9) fires
    step 4:  [9, 12) gets events                      W = 19 s: all are closed
"""

from collections import Counter
from pathlib import Path
from typing import Any

from tests.support.kafka_cluster import Cluster
from tests.support.services import settings_of
from tests.support.topic_writer import Raw, event, send
from tests.support.warehouse import rows
from tidemark.pipeline.settings.model import Settings

WINDOW_MS = 3_000
LATENESS_MS = 2_000
ORIGIN_MS = 1_000_000 * WINDOW_MS
PARTITIONS = 2
HOUR_MS = 3_600_000
FAULTY_STEP = 3
Row = tuple[tuple[str, Any], ...]


def _act(user: str, second: float, kind: str = "visit", partition: int = 0) -> Raw:
    return event(user, ORIGIN_MS + round(second * 1000), kind, partition)


def _zoe(second: float) -> Raw:
    return _act("zoe", second, "click", 1)


def _bad(second: float, partition: int = 0) -> Raw:
    return Raw(b"\x07not avro", b"ann", partition, ORIGIN_MS + round(second * 1000))


def _future(user: str, second: float, partition: int = 0) -> Raw:
    at_ms = ORIGIN_MS + round(second * 1000)
    return event(user, at_ms + HOUR_MS, "visit", partition, at_ms)


STEPS: tuple[tuple[Raw, ...], ...] = (
    (_act("ann", 1), _act("ann", 2, "click"), _act("bob", 4.5), _act("cat", 4.5, partition=1), _bad(4.6)),
    (_act("ann", 2.5), _act("cat", 7), _act("bob", 7.5, "click", 1), _future("eve", 7, 1)),
    (_act("cat", 5.5), _act("ann", 1.5, "click", 1), _bad(9, 1), _act("bob", 11), _zoe(8.5), _zoe(11)),
    (_act("ann", 20), _act("bob", 10, "click"), _act("cat", 20, partition=1), _act("ann", 3.5)),
)


def send_step(broker: Cluster, topic: str, number: int) -> None:
    """Puts a step's records on the topic; steps are numbered from 1."""
    send(broker.bootstrap_servers, topic, STEPS[number - 1])


def story_settings(broker: Cluster, topic: str, warehouse: Path) -> Settings:
    """The settings of the story."""
    time = {"bound": "1s", "allowed_lateness": "2s", "idle_timeout": "1h", "max_future_skew": "5m"}
    return settings_of(broker, topic, warehouse, time=time, window={"size": "3s"})


_REPORTS = ("page_views", "page_traffic", "site_traffic")


def outcome(warehouse: Path) -> dict[str, list[Row]]:
    """All committed rows of all tables, but for what a restart may change.

    Left out are batch ids, times of commits, and batches that read nothing: a query that starts at the end of the topic
    has one. Panes of closed windows go when the tables are looked after, which a new life does at once.
    """
    committed = {row["batch"] for row in rows(warehouse, "ledger")}
    watermark = max(row["watermark"] or 0 for row in rows(warehouse, "ledger"))
    reading = {row["batch"] for row in rows(warehouse, "ledger") if row["records"]}
    ledger = [row for row in rows(warehouse, "ledger") if row["batch"] in reading]
    panes = [
        row
        for row in rows(warehouse, "panes")
        if row["batch"] in committed and row["pane_start"] + WINDOW_MS + LATENESS_MS > watermark
    ]
    return {
        "ledger": _sorted(ledger, "batch", "epoch", "committed_at", "topic"),
        "panes": _sorted(_added_up(panes)),
        "dead_letters": _sorted(rows(warehouse, "dead_letters"), "batch", "topic"),
        **{
            name: _sorted(rows(warehouse, name), "published_batch")
            for name in ("page_views", "page_traffic", "site_traffic")
        },
    }


def _added_up(panes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each batch, report, pane and key, but for the batch's id: a batch may be written in several pieces."""
    sums = dict[tuple[Any, ...], Counter[str]]()
    for row in panes:
        counts = Counter({name: row[name] for name in ("page_views", "clicks", "late_events")})
        place = tuple(row[name] for name in ("batch", "report", "pane_start", "user_id", "page_url", "watermark"))
        sums.setdefault(place, Counter()).update(counts)
    return [{"place": place[1:], **sums[place]} for place in sums]


def _sorted(found: list[dict[str, Any]], *without: str) -> list[Row]:
    kept = [tuple((name, value) for name, value in row.items() if name not in without) for row in found]
    return sorted(kept, key=repr)
