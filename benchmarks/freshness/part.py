"""Runs a service and a simulator, each in a process of its own, and computes the figures and their tables."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import median

from rich.table import Table

from benchmarks.data import DISORDER, PARTITIONS, count, records
from benchmarks.errors import BenchmarkError
from benchmarks.freshness.figures import Figures, Load, Record, Slice, Span, read_samples, work_out
from benchmarks.freshness.service import SAMPLES, WAREHOUSE, now_ms
from benchmarks.process import last_words, run, started, stop, wait_until
from benchmarks.report import figures_table
from benchmarks.task import READY, Task
from benchmarks.verify import ledger, verify
from demo.broker import Broker

_TOPIC = "freshness"
_START_S = 600.0
_CATCH_UP_S = 600.0
_MB = 1_000_000
_MEDIAN_GOAL_S = 0.6
_P99_GOAL_S = 1.2


def measure(load: Load, work: Path, program: Sequence[str] = ()) -> Figures:
    """Runs the load and computes the figures. Raises BenchmarkError if a process fails or a record is missing.

    `program` is the `tidemark` command of another version, for which only the figures from its tables are available.
    """
    work.mkdir(parents=True)
    warehouse = str(work / WAREHOUSE)
    with Broker(work / "broker") as broker:
        broker.create_topic(_TOPIC, PARTITIONS)
        task = Task(broker.bootstrap_servers, _TOPIC, 0, str(work))
        produced = _run(load, task, work, program)
        rows = ledger(warehouse)
        if not program:
            verify(warehouse, count(task.bootstrap_servers, _TOPIC) or 0)
        samples = [] if program else read_samples((work / SAMPLES).read_text())
        return work_out(load, produced, warehouse, rows, _read_again(task), samples)


def _run(load: Load, task: Task, work: Path, program: Sequence[str]) -> Span:
    """Runs service and simulator, and returns the span in which events were produced."""
    log = work / "service.log"
    with _service(load, task, work, program) as service:
        ready = Path(work, WAREHOUSE, "ledger/_delta_log") if program else work / READY
        wait_until(ready.exists, service, log, _START_S)
        began = now_ms()
        run(simulate(load, task), work / "producer.log")
        ended = now_ms()
        warehouse, sent = str(work / WAREHOUSE), count(task.bootstrap_servers, _TOPIC)
        wait_until(lambda: sum(ledger(warehouse)["records"].to_pylist()) == sent, service, log, _CATCH_UP_S)
        if stop(service):
            raise BenchmarkError(f"the service ended with {service.returncode}:\n{last_words(log)}")
    return Span(began, ended)


def _service(
    load: Load, task: Task, work: Path, program: Sequence[str]
) -> AbstractContextManager[subprocess.Popen[bytes]]:
    log, interval = work / "service.log", str(load.interval_ms)
    if program:
        warehouse = str(work / WAREHOUSE)
        return started([*run_command(task, warehouse), "--batch.interval", f"{interval}ms"], log, program)
    return started(["benchmarks.freshness.service", task.to_json(), interval], log)


def run_command(task: Task, warehouse: str) -> list[str]:
    """Returns the arguments of `tidemark run` that every version understands."""
    target = ["--bootstrap-servers", task.bootstrap_servers, "--topic", task.topic, "--warehouse", warehouse]
    return ["run", *target, "--metrics.port", "0"]


def simulate(load: Load, task: Task) -> list[str]:
    """Returns the arguments of the simulator under the load, warm-up included."""
    target = ["producers", "simulate", "--bootstrap-servers", task.bootstrap_servers, "--topic", task.topic]
    duration = ["--rate", str(load.rate), "--duration", f"{load.warm_up_ms + load.duration_ms}ms"]
    return [*target, *duration, "--users", str(load.users), *DISORDER]


def _read_again(task: Task) -> Iterator[Record]:
    """Yields all records of the topic. Raises BenchmarkError if they cannot be read."""
    # The client's types allow None, but only for messages that were never sent.
    for message in records(task.bootstrap_servers, task.topic):
        yield Record(message.partition() or 0, message.offset() or 0, message.timestamp()[1])


def render(figures: Figures) -> list[Table]:
    """Returns tables of the figures with their goals, and of the slices."""
    return [_goals(figures), _slices(figures.slices)]


def _goals(figures: Figures) -> Table:
    with_warm_up = f"{figures.median_with_warm_up_ms / 1000:.2f} s and {figures.p99_with_warm_up_ms / 1000:.2f} s"
    c = figures.compiled
    rows = [
        ["median", f"{figures.median_ms / 1000:.2f} s", f"at most {_MEDIAN_GOAL_S} s"],
        ["99th percentile", f"{figures.p99_ms / 1000:.2f} s", f"at most {_P99_GOAL_S} s"],
        ["both, with the warm-up", with_warm_up, ""],
        [f"classes compiled outside publication, {c.batches} batches", str(sum(c.outside_at.values())), "none"],
        ["batches in which that happened", str(c.batches_with_one), "none"],
        [f"classes compiled in {c.publications} publications", str(c.in_publication), ""],
        ["busy cores", _cores(figures), ""],
        ["commit that closes windows to their rows in page_views", _publication(figures), ""],
    ]
    title = f"Freshness of {figures.records:,} records: time of commit minus Kafka timestamp"
    return figures_table(title, ["figure", "measured", "goal"], rows, words=3)


def curve(by_load: Mapping[Load, Figures]) -> Table:
    """Returns a table with the figures of several runs."""
    rows = [
        [
            f"{load.interval_ms / 1000:g} s",
            f"{load.users:,}",
            f"{figures.median_ms / 1000:.2f}",
            f"{figures.p99_ms / 1000:.2f}",
            str(figures.compiled.batches),
            _cores(figures),
            _publication(figures),
        ]
        for load, figures in by_load.items()
    ]
    heads = ["batch.interval", "users", "median s", "p99 s", "batches", "cores", "publication, median and longest"]
    return figures_table("Freshness by batch.interval", heads, rows)


def _cores(figures: Figures) -> str:
    return "-" if figures.cores is None else f"{figures.cores:.2f}"


def _publication(figures: Figures) -> str:
    if not figures.publication_ms:
        return "-"
    return f"{median(figures.publication_ms) / 1000:.2f} s and {max(figures.publication_ms) / 1000:.2f} s"


def _slices(slices: list[Slice]) -> Table:
    steps = sorted({step for slice_ in slices for step in slice_.steps})
    heads = ["from", "median s", "p99 s", "max s", "batches", "RSS JVM MB", "RSS Python MB", "least heap MB"]
    rows = [_row(slice_, slices[0].span.start, steps) for slice_ in slices]
    title = "Slices: nothing should grow from the first warm slice on"
    return figures_table(title, [*heads, *(f"{step} s" for step in steps)], rows)


def _row(slice_: Slice, began: int, steps: list[str]) -> list[str]:
    start = f"{(slice_.span.start - began) / 1000:.0f} s{'' if slice_.warm else ' (cold)'}"
    ages = [f"{value / 1000:.2f}" for value in (slice_.median_ms, slice_.p99_ms, slice_.max_ms)]
    m = slice_.memory
    memory = [f"{value / _MB:.0f}" for value in (m.jvm, m.python, m.heap)] if m else ["-"] * 3
    means = [f"{slice_.steps[step]:.3f}" if step in slice_.steps else "-" for step in steps]
    return [start, *ages, str(slice_.batches), *memory, *means]
