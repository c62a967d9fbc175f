"""A service broken in six ways, and each time the alert that says so arrives, and no other; a rollout is no alert.

One Prometheus and one Alertmanager for all of it, with the rules that are shipped; only the time that an alert waits
before it fires is shorter (`FASTER`). The dashboards' queries are asked while the service is well.
"""

import json
import re
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
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
from tests.deploy.rules import queries, tool
from tests.support.monitoring import Monitoring, answers, monitoring
from tests.support.processes import SMALL_DRIVER, Process
from tests.support.services import ANY_TIMESTAMP, Clock
from tests.support.waiting import wait_for
from tests.support.warehouse import EPOCH

TOPIC = "clicks"
PARTITIONS = 3
PATIENCE_S = 180
A_SECOND = 100
"""Records of each partition."""
STEP_S = 0.1
HOUR_MS = 3_600_000
SETTINGS = (
    *("--batch.interval", "200ms", "--kafka.connect-timeout", "1s", "--log-format", "json"),
    *("--window.size", "1s", "--time.bound", "1s", "--time.idle-timeout", "2s"),
)
FEW, MANY = 500, 5_000
"""Most records of a batch: few can be overloaded, and many make up for it."""
OF_OTHERS = re.compile(
    r"^WARNING: Using incubator modules.*\n"
    r"|\nthread '[^']+' .*panicked.*\n.*\n|^stack backtrace:\n|^note: Some details.*\n",
    re.MULTILINE,
)
"""Lines that Java prints before Spark has configured its log, and lines of delta-rs's threads about refused files.

Each prints three times, and others in between."""
OF_THE_MACHINE = (
    "TidemarkDiskFull",
    "TidemarkFreshness",
    "TidemarkRecordLag",
    "TidemarkWatermarkLag",
    "TidemarkNoCommit",
    "TidemarkPublicationBehind",
)
ABSENT_WHEN_WELL = re.compile(r"certificate|last_error|unpublished_since|tidemark_loss")
"""Series of charts that have no value without certificates, failures and deleted records."""
REFUSED = Rule("outage", "create,write,link", "page_views/*", Action.FAIL, lasting=True)


@dataclass
class Site:
    """A steady stream of events on every partition, as the test wants it at the moment."""

    bootstrap_servers: str
    a_second: dict[int, int] = field(default_factory=lambda: dict.fromkeys(range(PARTITIONS), A_SECOND))
    malformed_share: float = 0
    future_share: float = 0
    stopping: Event = field(default_factory=Event)

    def run(self) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap_servers, "linger.ms": 5, "log_level": 0})
        while not self.stopping.wait(STEP_S):
            for partition, a_second in self.a_second.items():
                count = int(a_second * STEP_S)
                broken, ahead = int(count * self.malformed_share), int(count * self.future_share)
                events = [b"{}"] * broken + [_event(HOUR_MS)] * ahead
                for event in (*events, *(_event() for _ in range(count - len(events)))):
                    producer.produce(TOPIC, event, b"ann", partition)
            producer.poll(0)


def is_of_the_machine(alert: Mapping[str, str]) -> bool:
    """Whether a full disk, or another test at the same time, may cause this alert."""
    return alert["alertname"].startswith(OF_THE_MACHINE)


def _event(ahead_ms: int = 0) -> bytes:
    time = Clock.real() + ahead_ms
    return encode_one({"event_id": "e", "event_type": "visit", "user_id": "ann", "event_time": time, "page_url": "/"})


@dataclass
class Stage:
    """The running parts."""

    folder: Path
    broker: Broker
    site: Site
    watching: Monitoring
    first: int
    faults: Faults
    expected: list[dict[str, str]] = field(default_factory=list)

    def await_alert(self, name: str, port: int, severity: str, **labels: str) -> None:
        """Returns when it has arrived; fails if any other has, but for those of a slow or full machine."""
        alert = {"alertname": name, "job": "tidemark", "instance": f"127.0.0.1:{port}", "severity": severity, **labels}
        self.expected.append(alert)
        alerts = self.watching.receiver.alerts
        wait_for(lambda: alert in alerts, PATIENCE_S, f"{alert}, but {alerts}")
        assert [alert for alert in alerts if alert in self.expected or not is_of_the_machine(alert)] == self.expected


@contextmanager
def service(folder: Path, broker: Broker, port: int, most: int, environment: Mapping[str, str]) -> Iterator[Process]:
    """Starts a service on the warehouse; returns when its page answers."""
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", TOPIC, "--metrics.port", str(port))
    options = (*where, "--warehouse", str(folder / "warehouse"), "--batch.max-records", str(most), *SETTINGS)
    command = [sys.executable, "-m", "pipeline.cli", "run", *options]
    with Process(command, folder / f"{port}.log", {**SMALL_DRIVER, **environment}) as process:
        wait_for(lambda: answers(port, "/healthz") or not process.alive, PATIENCE_S, "an answer of the service")
        assert process.alive, process.said
        yield process


@pytest.mark.broker
@pytest.mark.jvm
@pytest.mark.timeout(600)
@NEEDS_FAULTS
def test_each_of_six_failures_fires_its_alert_and_no_other(tmp_path: Path) -> None:
    first, second = free_port(), free_port()
    tool("prometheus")  # before anything is started
    faults = Faults(tmp_path / "faults", tmp_path / "warehouse")
    with (
        Broker(tmp_path / "broker", heap="256m") as broker,
        at_work(broker) as site,
        service(tmp_path, broker, first, FEW, faults.environment) as process,
    ):
        # The first batches are slow, and leave no real lag.
        wait_for(lambda: process.said.count("batch_committed") > 3, PATIENCE_S, "batches")
        with monitoring(tmp_path / "watching", first) as watching:
            stage = Stage(tmp_path, broker, site, watching, first, faults)
            well(stage)
            a_silent_partition(stage)
            a_malformed_flood(stage)
            a_clock_that_is_hours_ahead(stage)
            a_store_that_refuses(stage)
            an_overload(stage)
            with service(tmp_path, broker, second, MANY, {}):
                a_replaced_service(stage, process, second)
                a_broker_that_is_away(stage, second)


@contextmanager
def at_work(broker: Broker) -> Iterator[Site]:
    """A site, on a topic of its own."""
    broker.create_topic(TOPIC, PARTITIONS, **ANY_TIMESTAMP)
    site = Site(broker.bootstrap_servers)
    thread = Thread(target=site.run, daemon=True)
    thread.start()
    yield site
    site.stopping.set()
    thread.join()


def well(stage: Stage) -> None:
    """More than the thousand records from which a partition is not quiet; every chart has data."""
    most = f"min(delta(tidemark_partition_log_end_offset[1d])) > {12 * A_SECOND}"
    wait_for(lambda: stage.watching.ask(most), PATIENCE_S, "records on every partition")
    for query in (query for file in sorted(FOLDER.glob("*.json")) for query in queries(file)):
        if ABSENT_WHEN_WELL.search(query):
            continue
        values = [float(sample["value"][1]) for sample in stage.watching.ask(query)]
        assert [value for value in values if not isnan(value)], query
    assert [alert for alert in stage.watching.receiver.alerts if not is_of_the_machine(alert)] == []


def a_silent_partition(stage: Stage) -> None:
    stage.site.a_second[1] = 0
    warehouse = str(stage.folder / "warehouse")
    stage.await_alert("TidemarkPartitionSilent", stage.first, "warning", partition="1", warehouse=warehouse)
    stage.site.a_second[1] = A_SECOND


def a_malformed_flood(stage: Stage) -> None:
    stage.site.malformed_share = 0.5
    stage.await_alert("TidemarkMalformedShareHigh", stage.first, "warning", reason="malformed")
    stage.site.malformed_share = 0


def a_clock_that_is_hours_ahead(stage: Stage) -> None:
    stage.site.future_share = 0.2
    stage.await_alert("TidemarkFutureShareHigh", stage.first, "warning", reason="future")
    stage.site.future_share = 0


def a_store_that_refuses(stage: Stage) -> None:
    stage.faults.set([REFUSED])
    stage.await_alert("TidemarkPublicationFailing", stage.first, "critical")
    stage.faults.end(REFUSED.name)


def an_overload(stage: Stage) -> None:
    stage.site.a_second = dict.fromkeys(range(PARTITIONS), 10 * A_SECOND)
    stage.await_alert("TidemarkRecordLagGrowing", stage.first, "warning")
    stage.site.a_second = dict.fromkeys(range(PARTITIONS), A_SECOND)


def a_replaced_service(stage: Stage, first: Process, second: int) -> None:
    """A single replacement is no alert, and the old service is not missed: the next scene would see it."""
    stage.watching.watch(stage.first, second)
    assert first.wait() == 1
    *lines, last = OF_OTHERS.sub("", first.said).splitlines()
    assert last.startswith("tidemark: another service has opened epoch 2")
    every_word_is_an_object(lines)


def every_word_is_an_object(lines: Sequence[str]) -> None:
    """Log lines of the service, of Spark's JVM and of all between are JSON; a batch has one line, with its number."""
    words = [json.loads(line) for line in lines]
    assert all(word.keys() >= {"event", "level", "timestamp"} for word in words)
    batches = [word["batch"] for word in words if word["event"] == "batch_committed"]
    assert len(batches) > 10
    assert batches == list(range(EPOCH + 1, EPOCH + 1 + len(batches)))
    assert {word["batch"] for word in words if word["event"] == "windows_published"} <= {EPOCH, *batches}


def a_broker_that_is_away(stage: Stage, second: int) -> None:
    commits = f'changes(tidemark_batches_total{{instance="127.0.0.1:{second}"}}[5m]) > 2'
    wait_for(lambda: stage.watching.ask(commits), PATIENCE_S, "commits that Prometheus has seen")
    stage.site.stopping.set()
    assert stage.broker._process is not None
    stage.broker._process.send_signal(signal.SIGKILL)
    stage.await_alert("TidemarkFailing", second, "critical", kind="broker")
