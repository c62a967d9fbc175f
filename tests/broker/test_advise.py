"""The forecast for another bound equals the result of reading the same stream with that bound."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import median_low

import pytest

from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import in_turn
from tests.support.services import ANY_TIMESTAMP, Clock, settings_of
from tests.support.topic_writer import Raw, event, send
from tests.support.warehouse import milliseconds, rows
from tidemark.pipeline.app import open_service
from tidemark.pipeline.reading.advice.bounds_advice import outcomes_of
from tidemark.pipeline.settings.model import Settings

pytestmark = pytest.mark.broker

BOUND_S = 4
OTHERS_S = (0, 7)
BATCHES = 10
BEGIN_MS = 1_000_000_000
REPORTS = {
    "page_views": {"keys": ["user_id"], "window": {"size": "6s", "slide": "2s"}},
    "totals": {"window": {"size": "5s"}, "allowed_lateness": "1s"},
}


def batch(number: int, draw: Random) -> list[Raw]:
    """Two seconds of a stream on two partitions, some of whose events are up to 25 s late."""
    newest = BEGIN_MS + 2_000 * number
    late = [0] * 20 + [draw.randrange(25_000) for _ in range(20)]
    times = [newest - lateness - draw.randrange(2_000) for lateness in late]
    punctual = [event("ann", newest, partition=partition) for partition in (0, 1)]
    return punctual + [event("bob", time, partition=draw.randrange(2), timestamp_ms=newest) for time in times]


def settings(broker: Cluster, topic: str, warehouse: Path, bound_s: int) -> Settings:
    time = {"bound": f"{bound_s}s", "allowed_lateness": "0s", "idle_timeout": "1h", "max_future_skew": "1h"}
    return settings_of(broker, topic, warehouse, time=time, reports=REPORTS)


@pytest.fixture
def lived(broker: Cluster, make_topic: Callable[..., str], tmp_path: Path) -> Callable[[int], Path]:
    """Reads the batches, one every two seconds, with this bound; returns the warehouse."""

    def live(bound_s: int) -> Path:
        topic, clock, draw = make_topic(2, **ANY_TIMESTAMP), Clock(BEGIN_MS), Random(1)
        warehouse = tmp_path / f"{bound_s}s"
        for life in (range(BATCHES // 2), range(BATCHES // 2, BATCHES)):
            with open_service(settings(broker, topic, warehouse, bound_s), now=clock) as service:
                for number in life:
                    clock.move(2_000)
                    send(broker.bootstrap_servers, topic, batch(number, draw))
                    service.drain()
        return warehouse

    return live


@in_turn(2, 4)
def test_what_is_foretold_for_a_bound_comes_true_with_it(lived: Callable[[int], Path]) -> None:
    now = lived(BOUND_S)
    foretold = {one.bound_ms // 1000: one for one in outcomes_of(str(now), [bound * 1000 for bound in OTHERS_S])[0]}
    true = {bound: lived(bound) for bound in OTHERS_S} | {BOUND_S: now}
    came = {bound: assert_conserved(warehouse).too_late for bound, warehouse in true.items()}
    assert {bound: one.too_late for bound, one in foretold.items()} == came
    assert came[0] > came[BOUND_S] > came[7]
    first = results(now)
    for bound in OTHERS_S:
        then = results(true[bound])
        delays = [then[end] - first[end] for end in first.keys() & then.keys() if end > BEGIN_MS]
        told = foretold[bound].later_ms
        assert told is not None
        assert told[0] == median_low(delays)


def results(warehouse: Path) -> dict[int, int]:
    """When the windows of both reports had their first result, by their end."""
    ends = {milliseconds(row["window_end"]) for name in REPORTS for row in rows(warehouse, name)}
    steps = sorted((row["watermark"], row["committed_at"]) for row in rows(warehouse, "ledger") if row["watermark"])
    return {end: next(at for watermark, at in steps if watermark >= end) for end in ends}
