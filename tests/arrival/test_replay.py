"""Judged by arrival, a topic that is read again as a backlog gives what the service gave live, also after restarts."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any, Final

import pytest

from tests.arrival.test_any_cut import bags
from tests.support import warehouse as tables
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import SEED
from tests.support.services import Clock, running, settings_of
from tests.support.topic_writer import Raw, event, send
from tests.support.waiting import PATIENCE_S, wait_for
from tidemark.pipeline.app import open_service
from tidemark.pipeline.instants import now_ms

pytestmark = pytest.mark.broker

_PARTITIONS: Final = 3
_EVENTS: Final = 400
_SETTINGS: Final[Mapping[str, Any]] = {
    "time": {
        "judged": "arrival",
        "bound": "300ms",
        "allowed_lateness": "500ms",
        "idle_timeout": "1500ms",
        "settling": "5s",
    },
    "batch": {"interval": "100ms"},
    "reports": {
        "sliding": {"window": {"size": "2s", "slide": "1s"}, "keys": ["user_id"]},
        "visits": {"window": {"gap": "700ms"}, "keys": ["user_id"]},
        "all": {"window": {"size": "1s"}, "keys": []},
    },
}


def test_a_backlog_gives_what_the_service_gave_live(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, chance = make_topic(_PARTITIONS, message_timestamp_type="LogAppendTime"), Random(SEED)
    live = settings_of(broker, topic, tmp_path / "live", **_SETTINGS)
    traffic = Thread(target=write, args=(broker, topic, chance))
    traffic.start()
    for reaches in (_EVENTS // 3, _EVENTS):  # a service that is replaced goes on where the first one was
        with open_service(live, now=Clock.real) as service, running(service) as is_running:
            wait_for(partial(ended, is_running, tmp_path / "live", reaches), PATIENCE_S, "the service to read")
    traffic.join()
    for name in ("live", "backlog"):
        with open_service(settings_of(broker, topic, tmp_path / name, **_SETTINGS), now=Clock.real) as service:
            service.drain()
            service.end_input()
        assert_conserved(tmp_path / name)
    found = bags(tmp_path / "live", _SETTINGS["reports"])
    assert found == bags(tmp_path / "backlog", _SETTINGS["reports"])
    assert len(tables.batches(tmp_path / "live")) > len(tables.batches(tmp_path / "backlog"))
    assert found["dead_letters"]


def ended(is_running: Callable[[], bool], warehouse: Path, records: int) -> bool:
    return not is_running() or tables.records(warehouse) >= records


def write(broker: Cluster, topic: str, chance: Random) -> None:
    for each in written(chance):
        send(broker.bootstrap_servers, topic, [each])


def written(chance: Random) -> Iterator[Raw]:
    """Yields events as they happen: some come late, some partitions are silent for a while.

    Sending each of them by itself takes some milliseconds, which spreads them over many steps.
    """
    for number in range(_EVENTS):
        now = now_ms()
        late_ms = chance.choice([0, 0, 0, 50, 200, 1_500, 4_000])
        partition = chance.choice([0, 1] if number % 200 < 120 else range(_PARTITIONS))
        yield event(f"user-{number % 3}", now - late_ms, partition=partition, timestamp_ms=now)
