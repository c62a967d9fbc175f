"""Services for tests: small, on ports of their own, all on the one Spark session of the process."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final
from urllib.request import urlopen

from pipeline.service.runner import RunningService
from pipeline.settings.model import Settings
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.kafka_cluster import Cluster
from tests.support.topic_writer import Raw, send

ANY_TIMESTAMP = {"message_timestamp_after_max_ms": 2**63 - 1, "retention_ms": -1}
"""Topic settings under which the broker takes and keeps records of any time."""

LATER: Final = 4_000_000_000
"""Milliseconds; after every event of the tests: no act that cannot be undone goes beyond the service's clock."""


class Clock:
    """A clock that stands still until it is moved."""

    @staticmethod
    def real() -> int:
        """The time of day, for what a real clock judges."""
        return time.time_ns() // 1_000_000

    def __init__(self, now_ms: int = 1_000_000) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def move(self, milliseconds: int) -> None:
        """Let time pass."""
        self.now_ms += milliseconds


def settings_of(broker: Cluster, topic: str, warehouse: Path, **sections: Any) -> Settings:
    """Settings that read a topic from its beginning; `sections` replace the ones here, but `kafka` adds to them."""
    kafka = {"bootstrap_servers": broker.bootstrap_servers, "topic": topic, "start": "earliest"}
    spark = {"conf": BRIEF_DRIVER}
    # Tests tell stories of other days than their clocks show.
    time = {"max_ahead_of_clock": "off", **sections.pop("time", {})}
    told: dict[str, Any] = {"warehouse": str(warehouse), "metrics": {"port": 0}, "spark": spark}
    return Settings(**{**told, **sections, "time": time, "kafka": kafka | sections.get("kafka", {})})


def take(service: RunningService, broker: Cluster, topic: str, steps: Iterable[Iterable[Raw]]) -> None:
    """The service takes each step's records in a batch of their own."""
    for step in steps:
        send(broker.bootstrap_servers, topic, step)
        service.drain()


def metric(service: RunningService, sample: str) -> float:
    """The value of a sample, by its name and labels as the page of the metrics writes them; 0 where it has none."""
    with urlopen(f"http://localhost:{service.metrics_port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.removeprefix(f"{sample} ")) for line in lines if line.startswith(f"{sample} "))


@contextmanager
def running(service: RunningService) -> Iterator[Callable[[], bool]]:
    """The service at work in its own loop beside the test; tells whether it still is, and raises what made it fail."""
    stopping, failures = Event(), list[BaseException]()

    def run() -> None:
        try:
            service.run(stopping)
        except BaseException as failure:  # noqa: BLE001 - raised again by whoever waits
            failures.append(failure)

    thread = Thread(target=run)
    thread.start()
    try:
        yield thread.is_alive
    finally:
        stopping.set()
        thread.join()
    if failures:
        raise failures[0]
