"""A service broken in six ways, and each time the alert that says so arrives, and no other.

One Prometheus and one Alertmanager for all of it, with the rules that are shipped; only the time that an alert waits
before it fires is shorter (`FASTER`). The dashboards' queries are asked while the service is well.
"""

import json
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from threading import Event, Thread

import pytest
from confluent_kafka import Producer

from demo.broker import Broker
from demo.children import free_port
from dev.dashboards.__main__ import FOLDER
from producers.encode import encode_one
from tests.chaos.library import NEEDS_FAULTS
from tests.chaos.rules import Action, Faults, Rule
from tests.support.monitoring import Monitoring, monitoring, queries
from tests.support.processes import SMALL_DRIVER, Process
from tests.support.services import ANY_TIMESTAMP, Clock
from tests.support.waiting import wait_for
from tests.support.warehouse import EPOCH

TOPIC = "clicks"
PARTITIONS = 3
PATIENCE_S = 90
A_SECOND = 100
"""Records of each partition."""
STEP_S = 0.1
SETTINGS = (
    *("--batch.interval", "200ms", "--batch.max-records", "2000", "--kafka.connect-timeout", "1s"),
    *("--window.size", "1s", "--time.bound", "1s", "--time.idle-timeout", "2s", "--log-format", "json"),
)
REFUSED = Rule("outage", "create,write,link", "page_views/*", Action.FAIL, lasting=True)


@dataclass
class Site:
    """A steady stream of events on every partition, as the test wants it at the moment."""

    bootstrap_servers: str
    a_second: dict[int, int] = field(default_factory=lambda: dict.fromkeys(range(PARTITIONS), A_SECOND))
    malformed_share: float = 0
    stopping: Event = field(default_factory=Event)

    def run(self) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap_servers, "linger.ms": 5, "log_level": 0})
        while not self.stopping.wait(STEP_S):
            for partition, a_second in self.a_second.items():
                count = int(a_second * STEP_S)
                broken = int(count * self.malformed_share)
                for number in range(count):
                    producer.produce(TOPIC, b"{}" if number < broken else _event(), b"ann", partition)
            producer.poll(0)


def _event() -> bytes:
    now = Clock.real()
    return encode_one({"event_id": "e", "event_type": "visit", "user_id": "ann", "event_time": now, "page_url": "/"})


@dataclass
class Stage:
    """What runs."""

    folder: Path
    broker: Broker
    site: Site
    watching: Monitoring
    faults: Faults
    first: int
    expected: list[dict[str, str]] = field(default_factory=list)

    def await_alert(self, name: str, port: int, **labels: str) -> None:
        """Returns when it has arrived; fails if any other has."""
        severity = labels.pop("severity", "critical")
        told = {"alertname": name, "job": "tidemark", "instance": f"127.0.0.1:{port}", "severity": severity, **labels}
        self.expected.append(told)
        alerts = self.watching.told.alerts
        wait_for(lambda: told in alerts, PATIENCE_S, f"{told}, but {alerts}")
        assert alerts == self.expected

    @contextmanager
    def service(self, port: int) -> Iterator[Process]:
        """A service on the one warehouse."""
        where = ("--bootstrap-servers", self.broker.bootstrap_servers, "--topic", TOPIC)
        options = (*where, "--warehouse", str(self.folder / "warehouse"), "--metrics.port", str(port), *SETTINGS)
        command = [sys.executable, "-m", "pipeline.cli", "run", *options]
        faulty = self.faults.environment if port == self.first else {}
        with Process(command, self.folder / f"{port}.log", {**SMALL_DRIVER, **faulty}) as process:
            yield process

    def rate(self, port: int) -> float:
        """Records a second that a service commits."""
        found = self.watching.ask(f'sum(rate(tidemark_records_total{{instance="127.0.0.1:{port}"}}[10s]))')
        return float(found[0]["value"][1]) if found else 0


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A broker with its topic, and Prometheus; the site is not at work yet."""
    with Broker(tmp_path / "broker", heap="256m") as broker, monitoring(tmp_path / "watching") as watching:
        broker.create_topic(TOPIC, PARTITIONS, **ANY_TIMESTAMP)
        site, faults = Site(broker.bootstrap_servers), Faults(tmp_path / "faults", tmp_path / "warehouse")
        yield Stage(tmp_path, broker, site, watching, faults, free_port())
        site.stopping.set()


@pytest.mark.broker
@pytest.mark.jvm
@pytest.mark.timeout(600)
@NEEDS_FAULTS
def test_each_of_six_breaks_is_told_by_its_alert_and_by_no_other(stage: Stage) -> None:
    second = free_port()
    with stage.service(stage.first) as first:
        well(stage, first)
        a_silent_partition(stage)
        a_malformed_flood(stage)
        a_store_that_refuses(stage)
        an_overload(stage)
        with stage.service(second):
            a_replaced_service(stage, first, second)
            a_broker_that_is_away(stage, second)


def well(stage: Stage, service: Process) -> None:
    """At work, with more than the thousand records by which a partition is known not to be a quiet one."""
    wait_for(lambda: "epoch opened" in service.said or not service.alive, PATIENCE_S, f"the opening: {service.said}")
    Thread(target=stage.site.run, daemon=True).start()
    stage.watching.watch(stage.first)
    most = f"min(delta(tidemark_partition_log_end_offset[1d])) > {12 * A_SECOND}"
    wait_for(lambda: stage.watching.ask(most), PATIENCE_S, f"records: {service.said}")
    for query in (query for file in sorted(FOLDER.glob("*.json")) for query in queries(file)):
        values = [float(sample["value"][1]) for sample in stage.watching.ask(query)]
        assert [value for value in values if not isnan(value)], query
    assert stage.watching.told.alerts == []


def a_silent_partition(stage: Stage) -> None:
    stage.site.a_second[1] = 0
    stage.await_alert("TidemarkPartitionSilent", stage.first, partition="1", severity="warning")
    stage.site.a_second[1] = A_SECOND


def a_malformed_flood(stage: Stage) -> None:
    stage.site.malformed_share = 0.5
    stage.await_alert("TidemarkMalformedShareHigh", stage.first, severity="warning")
    stage.site.malformed_share = 0


def a_store_that_refuses(stage: Stage) -> None:
    stage.faults.set([REFUSED])
    stage.await_alert("TidemarkPublicationFailing", stage.first)
    stage.faults.end(REFUSED.name)


def an_overload(stage: Stage) -> None:
    stage.site.a_second = dict.fromkeys(range(PARTITIONS), 40 * A_SECOND)
    stage.await_alert("TidemarkRecordLagGrowing", stage.first, severity="warning")
    stage.site.a_second = dict.fromkeys(range(PARTITIONS), A_SECOND)


def a_replaced_service(stage: Stage, first: Process, second: int) -> None:
    stage.watching.watch(stage.first, second)
    warehouse = str(stage.folder / "warehouse")
    stage.await_alert("TidemarkReplaced", stage.first, warehouse=warehouse, severity="warning")
    assert first.wait() == 1
    *lines, last = first.said.splitlines()
    assert last.startswith("tidemark: another service has opened epoch 2")
    every_word_is_an_object(lines)
    wait_for(lambda: stage.rate(second) > 0, PATIENCE_S, "a batch of the second service")


def every_word_is_an_object(lines: Sequence[str]) -> None:
    """Of the service, of Spark's JVM and of all between; a batch has one line, by whose number others go."""
    words = [json.loads(line) for line in lines]
    assert all(word.keys() >= {"event", "level", "timestamp"} for word in words)
    batches = [word["batch"] for word in words if word["event"] == "batch committed"]
    assert len(batches) > 10
    assert batches == list(range(EPOCH + 1, EPOCH + 1 + len(batches)))
    assert {word["batch"] for word in words if word["event"] == "windows published"} <= {EPOCH, *batches}


def a_broker_that_is_away(stage: Stage, second: int) -> None:
    stage.site.stopping.set()
    assert stage.broker._process is not None
    stage.broker._process.send_signal(signal.SIGKILL)
    stage.await_alert("TidemarkFailing", second, kind="broker")
