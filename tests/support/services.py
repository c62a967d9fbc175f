"""Services for tests: small, on ports of their own, sharing the Spark session of the process."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final
from urllib.request import urlopen

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.kafka_cluster import Cluster
from tests.support.topic_writer import Raw, send
from tidemark.pipeline.service.runner import RunningService
from tidemark.pipeline.settings.model import Settings

ANY_TIMESTAMP = {"message_timestamp_after_max_ms": 2**63 - 1, "retention_ms": -1}
"""Topic settings with which the broker accepts and retains records of any time."""

LATER: Final = 4_000_000_000
"""Milliseconds, after every event of the tests: irreversible steps wait for the service's clock."""


class Clock:
    """A clock that moves only when a test moves it."""

    @staticmethod
    def real() -> int:
        """Returns the time of day, for tests with a real clock."""
        return time.time_ns() // 1_000_000

    def __init__(self, now_ms: int = 1_000_000) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def move(self, milliseconds: int) -> None:
        """Advances the clock."""
        self.now_ms += milliseconds


def settings_of(broker: Cluster, topic: str, warehouse: Path, **sections: Any) -> Settings:
    """Returns settings that read a topic from its start; `sections` replace the defaults, `kafka` is merged."""
    kafka = {"bootstrap_servers": broker.bootstrap_servers, "topic": topic, "start": "earliest"}
    spark = {"conf": BRIEF_DRIVER}
    # The events of tests are from other days than their clocks.
    time = {"max_ahead_of_clock": "off", "max_age": "off", **sections.pop("time", {})}
    base: dict[str, Any] = {"warehouse": str(warehouse), "metrics": {"port": 0}, "spark": spark}
    return Settings(**{**base, **sections, "time": time, "kafka": kafka | sections.get("kafka", {})})


def take(service: RunningService, broker: Cluster, topic: str, steps: Iterable[Iterable[Raw]]) -> None:
    """Sends the records of each step, and lets the service read them as one batch."""
    for step in steps:
        send(broker.bootstrap_servers, topic, step)
        service.drain()


def metric(service: RunningService, sample: str) -> float:
    """Returns the value of a sample, named with its labels as on the metrics page; 0 without a value."""
    with urlopen(f"http://localhost:{service.metrics_port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.removeprefix(f"{sample} ")) for line in lines if line.startswith(f"{sample} "))


@contextmanager
def running(service: RunningService) -> Iterator[Callable[[], bool]]:
    """Runs the service in a thread; yields a function that returns whether it runs. Raises its failure at the end."""
    stopping, failures = Event(), list[BaseException]()

    def run() -> None:
        try:
            service.run(stopping)
        except BaseException as failure:  # noqa: BLE001 - raised again at the end of the context
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
