"""Runs the collector and its peer under the same load in turn, and sends the events without HTTP."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

from confluent_kafka import Producer
from rich.table import Table

from benchmarks.collect.load import Answers, request, send
from benchmarks.data import PARTITIONS, count
from benchmarks.errors import BenchmarkError
from benchmarks.measure import cpu_seconds
from benchmarks.process import started, wait_until
from benchmarks.report import figures_table
from demo.broker import Broker
from demo.children import free_port
from tidemark.producers.collect.reading import read

COLLECTOR: Final = "collector"
PEER: Final = "the server alone"
KAFKA: Final = "no server"
_TOPIC: Final = "collect"
_START_S: Final = 600.0
_WARM_UP_S: Final = 1.0
_PERCENT: Final = 99


@dataclass(frozen=True)
class Plan:
    """Number of browsers, seconds per contestant and round, rounds, and numbers of events per request."""

    seconds: float
    browsers: int
    rounds: int
    events: tuple[int, ...] = (1, 20)


def measure(plan: Plan, work: Path) -> list[dict[str, Any]]:
    """Returns a row for each contestant and size of a request. Raises BenchmarkError if an event is not in Kafka."""
    work.mkdir(parents=True)
    rows: list[dict[str, Any]] = []
    with Broker(work / "broker") as broker:
        broker.create_topic(_TOPIC, PARTITIONS)
        for events in plan.events:
            rounds = [list(_round(plan, events, broker, work)) for _ in range(plan.rounds)]
            rows += [_median(contestant) for contestant in zip(*rounds, strict=True)]
    return rows


def _round(plan: Plan, events: int, broker: Broker, work: Path) -> Iterator[dict[str, Any]]:
    port = free_port()
    where = ["--bootstrap-servers", broker.bootstrap_servers, "--topic", _TOPIC, "--port", str(port)]
    collector = ["producers", "collect", *where, "--allow-origin", "https://shop.example", "--rate", "0"]
    peer = ["benchmarks.collect.peer", str(port)]
    for name, command in ((PEER, peer), (COLLECTOR, collector)):
        with _serving(command, port, work / f"{name}.log") as pid:
            sent = request(events)
            send(port, sent, plan.browsers, _WARM_UP_S)
            cpu, before = cpu_seconds(pid), count(broker.bootstrap_servers, _TOPIC) or 0
            answers = send(port, sent, plan.browsers, plan.seconds)
            cpu = cpu_seconds(pid) - cpu
        arrived = (count(broker.bootstrap_servers, _TOPIC) or 0) - before
        if arrived != (len(answers.waits_s) * events if name == COLLECTOR else 0):
            raise BenchmarkError(f"{len(answers.waits_s)} requests of {events} were acknowledged, {arrived} arrived")
        yield _row(name, events, answers, cpu)
    yield _without_http(plan, events, broker)


@contextmanager
def _serving(command: list[str], port: int, log: Path) -> Iterator[int]:
    with started(command, log) as process:
        wait_until(lambda: _listens(port), process, log, _START_S)
        yield process.pid


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def _without_http(plan: Plan, events: int, broker: Broker) -> dict[str, Any]:
    """Reads and sends the events of such requests in sequence, with as many pending events as browsers would have."""
    body = request(events).partition(b"\r\n\r\n")[2]
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True, "acks": "all"})
    done, began, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() < began + plan.seconds:
        records, _ = read(body, time.time_ns() // 1_000_000, "Mozilla/5.0")
        for record in records:
            producer.produce(_TOPIC, record.value, record.key, on_delivery=lambda *_: None)
        done += len(records)
        while len(producer) > plan.browsers * events:
            producer.poll(0.001)
    producer.flush()
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    return {"name": KAFKA, "events": events, "rate": done / seconds, "cpu_us_per_event": cpu / done * 1e6}


def _row(name: str, events: int, answers: Answers, cpu: float) -> dict[str, Any]:
    acknowledged = len(answers.waits_s) * events
    return {
        "name": name,
        "events": events,
        "rate": acknowledged / answers.seconds,
        "cpu_us_per_event": cpu / acknowledged * 1e6,
        "median_ms": median(answers.waits_s) * 1e3,
        "p99_ms": quantiles(answers.waits_s, n=_PERCENT + 1)[-1] * 1e3,
    }


def _median(rounds: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    words = {name: rounds[0][name] for name in ("name", "events")}
    return words | {name: median(row[name] for row in rounds) for name in rounds[0] if name not in words}


def render(rows: list[dict[str, Any]], plan: Plan) -> Table:
    """Returns a table with a row for each contestant; `of the server` is its rate over the rate of the bare server."""
    alone = {row["events"]: row["rate"] for row in rows if row["name"] == PEER}
    heads = ["contestant", "events a request", "events/s", "of the server", "CPU us/event", "median ms", "p99 ms"]
    cells = [
        [
            row["name"],
            f"{row['events']}",
            f"{row['rate']:,.0f}",
            f"{row['rate'] / alone[row['events']]:.2f}",
            f"{row['cpu_us_per_event']:.0f}",
            *(f"{row[name]:.1f}" if name in row else "" for name in ("median_ms", "p99_ms")),
        ]
        for row in rows
    ]
    title = f"{plan.browsers} browsers for {plan.seconds:g} s, {plan.rounds} rounds, median"
    return figures_table(title, heads, cells, words=1)
