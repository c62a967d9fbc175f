"""What partitions cost: the same events in as many batches, on topics of few and of many partitions."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from rich.table import Table

from benchmarks.contestants import ONE_REPORT, Contestant, Job
from benchmarks.data import backlog
from benchmarks.drain import Plan, drain_alone
from benchmarks.report import figures_table
from benchmarks.task import Drain, Task

_KEPT: Final = 0.5
"""Of the batches the last half counts: a JVM is not warm before."""


def drains_by_partitions(
    plan: Plan, counts: Sequence[int], batches: int, data_dir: Path, work: Path
) -> Iterator[tuple[int, list[Drain]]]:
    """A drain in so many batches with one report, a topic for each number of partitions, round after round.

    Raises BenchmarkError.
    """
    size = max(1, plan.events // batches)
    for number in range(plan.rounds):
        for count in counts:
            with backlog(plan.events, data_dir, partitions=count) as (broker, topic):
                folder = str(work / f"partitions-{number}-{count}")
                task = Task(broker.bootstrap_servers, topic, plan.events, folder, batch=size, drains=1)
                yield count, drain_alone(Contestant(Job.OURS, ONE_REPORT, size), task)


def figures(rounds: dict[int, list[list[Drain]]], events: int) -> dict[int, dict[str, Any]]:
    """By number of partitions: seconds of a batch, CPU per event, and what a batch adds to the ledger."""
    found = {}
    for count, each in rounds.items():
        last = [drains[-1] for drains in each]
        seconds = [drain.notes["seconds_per_batch"] for drain in last]
        batches = len(seconds[0])
        found[count] = {
            "seconds": median(one for drain in seconds for one in drain[int(len(drain) * _KEPT) :]),
            "cpu_us_per_event": median(drain.cpu_seconds for drain in last) / events * 1e6,
            "batches": batches,
            "ledger_bytes_per_batch": last[0].notes["table_bytes"]["ledger"] / batches,
        }
    return found


def render(found: dict[int, dict[str, Any]], events: int) -> Table:
    """One row for each number of partitions."""
    heads = ["partitions", "batches", "median s of a batch", "CPU us/event", "ledger bytes/batch"]
    rows = [
        [
            f"{count:,}",
            f"{row['batches']:,}",
            f"{row['seconds']:.3f}",
            f"{row['cpu_us_per_event']:.2f}",
            f"{row['ledger_bytes_per_batch']:,.0f}",
        ]
        for count, row in found.items()
    ]
    return figures_table(f"{events:,} events in small batches, one report", heads, rows)
