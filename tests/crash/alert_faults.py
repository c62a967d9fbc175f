"""The parts of the hour under the shipped monitoring, and the faults that they have, each with its alerts."""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from confluent_kafka import Producer

from benchmarks.measure import children
from demo.broker import Broker
from tests.chaos.rules import Faults
from tests.chaos.soak import DRIVER
from tests.crash.alert_scenes import NO_RESULTS, OLD_MS, open_transaction
from tests.crash.alert_stage import MINUTE_MS, PARTITIONS, Site
from tests.producers.collect.collect_client import Asker, request_body
from tests.producers.collect.collect_client import event as of_a_page
from tests.support.monitoring import Monitoring, answers
from tests.support.processes import Process
from tests.support.repeating import repeating
from tests.support.services import Clock
from tests.support.waiting import PATIENCE_S, wait_for

LONG_TRANSACTIONS: Final = {"transaction.max.timeout.ms": f"{60 * MINUTE_MS}"}
"""By default the broker aborts a transaction after 15 minutes; the alert is for one that it does not abort."""
_ON_A_HOST: Final = (
    shutil.which("unshare") or "unshare",
    "--mount",
    "sh",
    "-c",
    'mount --bind "$0" "$1" && shift && exec "$@"',
)
"""Runs a command after two folders: it sees the first in the place of the second."""


@dataclass
class Host:
    """A service on a host of its own: its topic, its site, and the folder that it sees at the path of both."""

    name: str
    folder: Path
    broker: Broker
    site: Site
    faults: Faults
    port: int
    process: Process | None = None

    @property
    def pid(self) -> int:
        assert self.process
        return self.process.popen.pid

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the service, not to its Java."""
        os.kill(self.pid, number)

    def start(self) -> None:
        """Starts the service; returns when its page answers."""
        shared, own = self.folder / "host", self.folder / self.name
        where = ("--bootstrap-servers", self.broker.bootstrap_servers, "--topic", self.name)
        run = (sys.executable, "-m", "tidemark.pipeline.cli", "run", *where, "--metrics.port", str(self.port))
        # The library of faults leaves the environment of any program but Python.
        faults = ("env", *(f"{name}={value}" for name, value in self.faults.environment.items()))
        command = [*_ON_A_HOST, str(own), str(shared), *faults, *run, "--warehouse", str(shared / "warehouse")]
        self.process = Process(command, self.folder / f"{self.name}.log", DRIVER)
        wait_for(lambda: answers(self.port, "/healthz") or not self.is_alive, PATIENCE_S, f"service {self.name}")
        assert self.is_alive, self.process.said

    @property
    def is_alive(self) -> bool:
        return self.process is not None and self.process.alive

    def kill(self) -> None:
        if self.process:
            self.process.kill()


@dataclass
class Restarted:
    """A process that a fault kills and starts again."""

    command: Callable[[], Process]
    process: Process | None = None

    def start(self) -> None:
        self.process = self.command()

    def kill(self) -> None:
        if self.process:
            self.process.kill()


@dataclass(frozen=True)
class Fault:
    """A failure from one minute to another, and the alerts that it must cause."""

    what: str
    begin: float
    end: float
    do: Callable[[], object]
    mend: Callable[[], object]
    expected: tuple[tuple[str, int | None], ...]
    """Name and port of each alert; the port is empty for an alert on a warehouse."""
    consequences: tuple[str, ...] = ()
    """Alerts that may fire, too; Alertmanager inhibits them, or they are for a person to know."""


def of_processes(first: Host, collect: Restarted, page: Restarted, collector: int, shown: int) -> list[Fault]:
    """Returns the faults of a service, the collector and the page; `collector` and `shown` are ports."""
    freeze, thaw = partial(first.send, signal.SIGSTOP), partial(first.send, signal.SIGCONT)
    others = ("TidemarkNoCommit", "TidemarkFreshness", "TidemarkPageUnhealthy")
    return [
        Fault("the first service is frozen", 5, 11, freeze, thaw, (("TidemarkDown", first.port),), others),
        Fault("the page is killed", 5, 11, page.kill, page.start, (("TidemarkPageDown", shown),)),
        Fault("the collector is killed", 5, 11, collect.kill, collect.start, (("TidemarkCollectDown", collector),)),
    ]


def of_data(first: Host, second: Host) -> list[Fault]:
    """Returns the faults of what the sites send."""
    rejected = (("TidemarkMalformedShareHigh", second.port), ("TidemarkMostRejected", second.port))
    malform, send_well = (partial(setattr, second.site, "malformed_share", share) for share in (0.9, 0))
    hanging = _Transaction(second)
    held = ("TidemarkRecordLag", "TidemarkWatermarkLag", "TidemarkPartitionStuck", "TidemarkFreshness")
    is_open = (("TidemarkTransactionOpen", second.port),)
    be_old, be_new = (partial(first.site.ahead_ms.update, {PARTITIONS - 1: ahead}) for ahead in (-OLD_MS, 0))
    stuck = (("TidemarkPartitionStuck", first.port), ("TidemarkLateShareHigh", first.port))
    slow = ("TidemarkWatermarkLag", "TidemarkFreshness")
    return [
        Fault("nine of ten records of the second are malformed", 5, 19, malform, send_well, rejected),
        Fault("a transaction of the second stays open", 5, 24, hanging.open, hanging.abort, is_open, held),
        Fault("a partition of the first has old events only", 49, 66, be_old, be_new, stuck, slow),
    ]


def of_the_engine(first: Host, second: Host, broker: Broker, collector: int) -> list[Fault]:
    """Returns the faults of store, Java and broker."""
    refuse, accept = partial(first.faults.set, [NO_RESULTS]), partial(first.faults.end, NO_RESULTS.name)
    failing = (("TidemarkPublicationFailing", first.port),)
    stop, go_on = (partial(_send_to_java, second, number) for number in (signal.SIGSTOP, signal.SIGCONT))
    hangs = (("TidemarkNoCommit", second.port),)
    slow = ("TidemarkFreshness", "TidemarkRecordLag", "TidemarkWatermarkLag", "TidemarkPartition")
    away = (*(("TidemarkFailing", host.port) for host in (first, second)), ("TidemarkCollectUnavailable", collector))
    after = (*slow, "TidemarkUnstable", "TidemarkNoCommit")
    return [
        Fault("the store refuses the first's results", 25, 33, refuse, accept, failing, ("TidemarkPublicationBehind",)),
        Fault("Java of the second is stopped", 25, 37, stop, go_on, hangs, slow),
        Fault("the broker is away", 39, 47, broker.kill, broker.start, away, after),
    ]


def of_the_second(second: Host, watching: Monitoring, other: int) -> list[Fault]:
    """Returns the end of the second service, and then of its target; `other` is the port of the first."""
    forget, find = partial(watching.watch, other), partial(watching.watch, other, second.port)
    return [
        Fault("the second is killed", 50, 67, second.kill, second.start, (("TidemarkDown", second.port),)),
        Fault("the second is no target any more", 56, 67, forget, find, (("TidemarkMissing", None),)),
    ]


def _send_to_java(host: Host, number: signal.Signals) -> None:
    (java,) = children(host.pid)
    os.kill(java, number)


@dataclass
class _Transaction:
    """A transaction on the last partition of a host's topic."""

    host: Host
    producer: Producer | None = None

    def open(self) -> None:
        self.producer = open_transaction(self.host.broker, self.host.name, 60)

    def abort(self) -> None:
        assert self.producer
        self.producer.abort_transaction(PATIENCE_S)


def visitors(collector: int) -> AbstractContextManager[None]:
    """A page sends the collector a visit each second, and does not care for the answer."""
    asker = Asker(f"http://127.0.0.1:{collector}")

    def visit() -> None:
        with suppress(OSError):
            asker.post(request_body(of_a_page(event_time=Clock.real()), sent_at=Clock.real()))

    return repeating(visit, 1)
