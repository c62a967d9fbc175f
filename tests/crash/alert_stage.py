"""The running parts of the test of alerts: a site that sends events, a service, and what watches it."""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from confluent_kafka import Producer

from demo.broker import Broker
from tests.chaos.rules import Faults
from tests.support.monitoring import Monitoring, answers
from tests.support.processes import SMALL_DRIVER, Process, tidemark
from tests.support.services import ANY_TIMESTAMP, Clock
from tests.support.waiting import PATIENCE_S, wait_for
from tidemark.producers.encode import encode_one

TOPIC = "clicks"
PARTITIONS = 3
A_SECOND = 100
"""Records of each partition."""
STEP_S = 0.1
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
OF_THE_MACHINE = (
    "TidemarkDisk",
    "TidemarkFreshness",
    "TidemarkNoCommit",
    "TidemarkRecordLag",
    "TidemarkRetention",
    "TidemarkWatermarkLagUnusual",
    "TidemarkPublicationBehind",
)
"""Alerts that a full disk, another test at the same time, or the backlog after a scene may cause."""
SETTINGS = (
    *("--batch.interval", "200ms", "--kafka.connect-timeout", "5s", "--log-format", "json"),
    *("--window.size", "1s", "--time.bound", "1s", "--time.idle-timeout", "10s"),
)


@dataclass
class Site:
    """A steady stream of events on every partition, which a scene changes."""

    bootstrap_servers: str
    topic: str
    per_second: dict[int, int]
    ahead_ms: dict[int, int] = field(default_factory=lambda: dict.fromkeys(range(PARTITIONS), 0))
    """How far the clock of the partition's sender is ahead."""
    malformed_share: float = 0
    wrong_share: float = 0
    """The share of the events whose time is wrong by `wrong_ms`."""
    wrong_ms: int = 0
    stopping: Event = field(default_factory=Event)

    def run(self) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap_servers, "linger.ms": 5, "log_level": 0})
        while not self.stopping.wait(STEP_S):
            for partition, per_second in self.per_second.items():
                count = int(per_second * STEP_S)
                malformed, wrong = int(count * self.malformed_share), int(count * self.wrong_share)
                right = [event(self.ahead_ms[partition])] * (count - malformed - wrong)
                for value in (*[b"{}"] * malformed, *[event(self.wrong_ms)] * wrong, *right):
                    producer.produce(self.topic, value, b"ann", partition)
            producer.poll(0)


def event(ahead_ms: int = 0) -> bytes:
    """Returns an event of now, or of a time ahead of now."""
    time_ms = Clock.real() + ahead_ms
    return encode_one(
        {"event_id": "e", "event_type": "visit", "user_id": "ann", "event_time": time_ms, "page_url": "/"}
    )


@dataclass
class Stage:
    """The running parts, and the alerts that the scenes have expected."""

    folder: Path
    broker: Broker
    site: Site
    watching: Monitoring
    faults: Faults
    port: int
    """The service that the scenes break."""
    excused: tuple[str, ...] = OF_THE_MACHINE
    expected: list[dict[str, str]] = field(default_factory=list)

    @property
    def warehouse(self) -> str:
        return str(self.folder / "warehouse")

    def alert(self, name: str, severity: str, **labels: str) -> dict[str, str]:
        """Returns the labels of an alert about the service."""
        instance = {"instance": f"127.0.0.1:{self.port}"}
        return {"alertname": name, "job": "tidemark", "severity": severity, **instance, **labels}

    def expect(self, *alerts: dict[str, str]) -> None:
        """Returns when the alerts have arrived; fails if another one has that the scenes did not cause."""
        self.expected += alerts
        started_s, arrived = time.monotonic(), self.watching.receiver.alerts
        for alert in alerts:
            wait_for(lambda alert=alert: alert in arrived, PATIENCE_S, f"{alert}, but {arrived}")  # type: ignore[misc]
            sys.stdout.write(f"{alert['alertname']} fired after {time.monotonic() - started_s:.0f} s\n")
        others = [alert for alert in arrived if alert not in self.expected and not self._is_excused(alert)]
        assert others == [], others

    def _is_excused(self, alert: Mapping[str, str]) -> bool:
        """Returns whether the machine may cause this alert."""
        return alert["alertname"].startswith(self.excused)

    def silent(self, *names: str) -> None:
        """Returns when these alerts have ended."""
        started_s = time.monotonic()
        for name in names:
            wait_for(lambda name=name: name not in self.watching.firing(), PATIENCE_S, f"the end of {name}")  # type: ignore[misc]
            sys.stdout.write(f"{name} ended after {time.monotonic() - started_s:.0f} s\n")

    def value(self, query: str) -> float:
        """Returns the only value of a query."""
        ((_, value),) = [sample["value"] for sample in self.watching.ask(query)]
        return float(value)

    def sees(self, query: str) -> None:
        """Returns when the query has a result."""
        wait_for(lambda: self.watching.ask(query), PATIENCE_S, query)


@contextmanager
def at_work(broker: Broker, topic: str = TOPIC, per_second: int = A_SECOND) -> Iterator[Site]:
    """Yields a site, on a topic of its own; `per_second` are records of each partition."""
    broker.create_topic(topic, PARTITIONS, **ANY_TIMESTAMP)
    site = Site(broker.bootstrap_servers, topic, dict.fromkeys(range(PARTITIONS), per_second))
    thread = Thread(target=site.run, daemon=True)
    thread.start()
    yield site
    site.stopping.set()
    thread.join()


@contextmanager
def service(
    folder: Path, broker: Broker, port: int, *more: str, environment: Mapping[str, str] | None = None
) -> Iterator[Process]:
    """Starts a service on the warehouse; returns when its page answers."""
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", TOPIC, "--metrics.port", str(port))
    options = (*where, "--warehouse", str(folder / "warehouse"), *SETTINGS, *more)
    driver = {**SMALL_DRIVER, **(environment or {})}
    with tidemark(folder / f"{port}.log", "run", *options, driver=driver) as process:
        wait_for(lambda: answers(port, "/healthz") or not process.alive, PATIENCE_S, "an answer of the service")
        assert process.alive, process.said
        yield process
