"""Measures the cost of partitions: the same events and number of batches, on topics of few and many partitions."""

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

_COLD_SHARE: Final = 0.5
"""Share of first batches that do not count, because the JVM is not warm."""


def drains_by_partitions(
    plan: Plan, counts: Sequence[int], batches: int, data_dir: Path, work: Path
) -> Iterator[tuple[int, list[Drain]]]:
    """Drains in `batches` batches with one report, a topic for each number of partitions, round after round.

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
    """Returns, by number of partitions: seconds of a batch, CPU per event, and ledger bytes per batch."""
    found = {}
    for count, each in rounds.items():
        last = [drains[-1] for drains in each]
        seconds = [drain.notes["seconds_per_batch"] for drain in last]
        batches = len(seconds[0])
        found[count] = {
            "seconds": median(batch for drain in seconds for batch in drain[int(len(drain) * _COLD_SHARE) :]),
            "cpu_us_per_event": median(drain.cpu_seconds for drain in last) / events * 1e6,
            "batches": batches,
            "ledger_bytes_per_batch": last[0].notes["table_bytes"]["ledger"] / batches,
        }
    return found


def render(found: dict[int, dict[str, Any]], events: int) -> Table:
    """Returns a table with a row for each number of partitions."""
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
