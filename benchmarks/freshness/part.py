"""The run: a service and a simulator, each in a process of its own, and the figures afterwards."""

import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.data import DISORDER, PARTITIONS, count
from benchmarks.errors import BenchmarkError
from benchmarks.freshness.figures import Figures, compiled, of_slices, slices
from benchmarks.freshness.publications import Span, publications
from benchmarks.freshness.records import ages, all_records, commits, percentile
from benchmarks.freshness.samples import Samples
from benchmarks.freshness.service import READY, SAMPLES, WAREHOUSE
from benchmarks.process import last_words, run, started, stop, wait_until
from benchmarks.task import Task
from benchmarks.verify import ledger, verify
from demo.broker import Broker

_TOPIC = "freshness"
_START_S = 120.0
_CATCH_UP_S = 120.0


@dataclass(frozen=True)
class Load:
    """Events per second, for how long; times in milliseconds."""

    rate: int
    users: int
    warm_up_ms: int
    duration_ms: int
    slice_ms: int


def measure(load: Load, work: Path) -> Figures:
    """Runs the load and works out the figures. Raises BenchmarkError if a process fails or a record is missing."""
    work.mkdir(parents=True)
    with Broker(work / "broker") as broker:
        broker.create_topic(_TOPIC, PARTITIONS)
        task = Task(broker.bootstrap_servers, _TOPIC, 0, str(work))
        produced = _run(load, task, work)
        return _figures(load, task, work, produced)


def _run(load: Load, task: Task, work: Path) -> Span:
    """Returns from when to when events were produced."""
    log = work / "service.log"
    with started(["benchmarks.freshness.service", task.to_json()], log) as service:
        wait_until((work / READY).exists, service, log, _START_S)
        began = _now()
        run(_simulate(load, task), work / "producer.log")
        ended = _now()
        warehouse, sent = str(work / WAREHOUSE), count(task.bootstrap_servers, _TOPIC)
        wait_until(lambda: _committed(warehouse) == sent, service, log, _CATCH_UP_S)
        if stop(service):
            raise BenchmarkError(f"the service ended with {service.returncode}:\n{last_words(log)}")
    return Span(began, ended)


def _simulate(load: Load, task: Task) -> list[str]:
    target = ["producers", "simulate", "--bootstrap-servers", task.bootstrap_servers, "--topic", task.topic]
    duration = ["--rate", str(load.rate), "--duration", f"{load.warm_up_ms + load.duration_ms}ms"]
    return [*target, *duration, "--users", str(load.users), *DISORDER]


def _committed(warehouse: str) -> int:
    return sum(ledger(warehouse)["records"].to_pylist())


def _figures(load: Load, task: Task, work: Path, produced: Span) -> Figures:
    warehouse = str(work / WAREHOUSE)
    verify(warehouse, count(task.bootstrap_servers, task.topic) or 0)
    rows, samples = ledger(warehouse), Samples.from_json((work / SAMPLES).read_text())
    committed = commits(rows)
    found = ages(all_records(task.bootstrap_servers, task.topic, committed), committed, produced.start, load.slice_ms)
    # The last slice takes the moment that the producer needed to end.
    times = range(produced.start, produced.start + load.warm_up_ms + load.duration_ms, load.slice_ms)
    spans = [Span(start, start + load.slice_ms) for start in times]
    batch_times = sorted(set(rows["committed_at"].to_pylist()))
    warm = Span(produced.start + load.warm_up_ms, produced.end)
    everything = of_slices(found, {number for number, _ in found})
    counted = of_slices(found, {number for number, _ in found if produced.start + number * load.slice_ms >= warm.start})
    return Figures(
        records=counted.total(),
        median_ms=percentile(counted, 0.5),
        p99_ms=percentile(counted, 0.99),
        median_with_warm_up_ms=percentile(everything, 0.5),
        p99_with_warm_up_ms=percentile(everything, 0.99),
        compiled=compiled(samples.compilations, publications(warehouse, rows), batch_times, warm),
        slices=slices(found, spans, warm.start, samples, batch_times),
    )


def _now() -> int:
    return time.time_ns() // 1_000_000
