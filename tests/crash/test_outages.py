"""Broker and store go down under a running service and come back: it stays, reports, and catches up.

One service for all parts, because an outage must not change it: each part goes on where the last part ended.
"""

import re
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from demo.broker import Broker
from demo.children import free_port
from tests.support.brief_java import BRIEF_JVM
from tests.support.conservation import assert_conserved
from tests.support.frozen import frozen
from tests.support.processes import Process, tidemark
from tests.support.seeds import in_turn
from tests.support.services import ANY_TIMESTAMP
from tests.support.topic_writer import event, send
from tests.support.waiting import wait_for

pytestmark = pytest.mark.broker

TOPIC = "clicks"
PATIENCE_S = 600
START_MS = 1_790_820_000_000
RULES = (
    *("--batch.interval", "200ms", "--kafka.connect-timeout", "1s", "--metrics.max-age", "5s"),
    *("--time.bound", "1s", "--window.size", "1s"),
)


@dataclass
class Watched:
    """A running service, and what its page says."""

    broker: Broker
    process: Process
    port: int
    warehouse: Path
    sent: int = 0
    statuses: set[int] = field(default_factory=set)
    """The page answered with these, whenever it was asked for something else than readiness."""

    def send_event(self) -> None:
        """An event half a minute after the last one."""
        self.sent += 1
        send(self.broker.bootstrap_servers, TOPIC, [event("ann", START_MS + 30_000 * self.sent)])

    def ask(self, path: str) -> str:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE_S) as answer:
                status, body = answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            status, body = error.code, error.read().decode()
        if path != "/readyz":
            self.statuses.add(status)
        return str(body)

    def metric(self, name: str) -> float:
        """A number of the page; 0 where it is absent."""
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.ask("/metrics"), re.MULTILINE)
        return float(found[1]) if found else 0

    def failures(self, kind: str) -> float:
        return self.metric(f'tidemark_failures_total{{kind="{kind}"}}')

    def await_all(self) -> None:
        """Returns when all that was sent is committed."""
        counted = 'tidemark_records_total{verdict="counted"}'
        wait_for(lambda: self.metric(counted) == self.sent, PATIENCE_S, f"{self.sent} records, {self.process.said}")

    def await_readiness(self, begins: str) -> None:
        """Returns when it says so of its readiness."""
        wait_for(lambda: self.ask("/readyz").startswith(begins), PATIENCE_S, f"the words: {begins}")

    def await_failures(self, kind: str, count: float) -> None:
        wait_for(lambda: self.failures(kind) >= count, PATIENCE_S, f"failure by the {kind}, {self.process.said}")


@contextmanager
def unmounted(warehouse: Path) -> Iterator[None]:
    """A store that is away: where the tables were nothing can be read or written."""
    aside = warehouse.rename(warehouse.with_name("aside"))
    warehouse.write_text("no folder")
    yield
    warehouse.unlink()
    aside.rename(warehouse)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    """A service at work that has committed an event."""
    port, warehouse = free_port(), tmp_path / "warehouse"
    with Broker(tmp_path / "broker", heap="256m", options=[BRIEF_JVM]) as broker:
        broker.create_topic(TOPIC, 1, **ANY_TIMESTAMP)
        where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", TOPIC, "--warehouse", str(warehouse))
        with tidemark(tmp_path / "service.log", "run", *where, "--metrics.port", str(port), *RULES) as process:
            service = Watched(broker, process, port, warehouse)
            service.send_event()
            wait_for(lambda: "epoch_opened" in process.said or not process.alive, PATIENCE_S, "the opening")
            service.await_all()
            yield service


@pytest.mark.broker
@pytest.mark.jvm
@pytest.mark.long
@in_turn(2, 4)
def test_a_service_survives_every_outage_reports_it_and_catches_up(watched: Watched) -> None:
    a_broker_that_does_not_answer(watched)
    a_store_that_is_away(watched)
    stop_without_a_broker(watched)
    assert watched.statuses == {200}
    assert "Traceback" not in watched.process.said
    balance = assert_conserved(watched.warehouse)
    assert (balance.counted, balance.too_late) == (watched.sent, 0)


def a_broker_that_does_not_answer(watched: Watched) -> None:
    with frozen(watched.broker):
        watched.await_failures("broker", 2)  # one at work, one in vain
        assert "restarts" in watched.ask("/healthz")
        watched.await_readiness("Not ready: the brokers have not reported")
    watched.await_readiness("Ready")
    assert watched.metric("tidemark_last_error_timestamp_seconds") > 0
    watched.send_event()
    watched.await_all()
    assert watched.metric("tidemark_attempts_total") >= 2
    assert "the service is running" in watched.ask("/healthz")


def a_store_that_is_away(watched: Watched) -> None:
    before = watched.metric("tidemark_attempts_total")
    with unmounted(watched.warehouse):
        watched.send_event()
        watched.await_failures("store", 1)
    watched.await_all()
    assert watched.metric("tidemark_attempts_total") > before


def stop_without_a_broker(watched: Watched) -> None:
    watched.broker.stop()
    wait_for(lambda: "restarts" in watched.ask("/healthz"), PATIENCE_S, "the next outage")
    watched.process.send(signal.SIGTERM)
    assert watched.process.wait(PATIENCE_S) == 0, watched.process.said
