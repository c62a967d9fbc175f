"""Whether a batch costs more the more batches there were: the backlog in many small ones."""

from itertools import pairwise
from pathlib import Path
from statistics import median

from rich.table import Table

from benchmarks.contestants import Contestant, Job
from benchmarks.drain import drain_alone
from benchmarks.task import Task
from demo.broker import Broker

_PARTS = 10


def seconds_by_tenth(broker: Broker, topic: str, events: int, batches: int, work: Path) -> list[float]:
    """The median time from commit to commit, in each tenth of the batches. Raises BenchmarkError."""
    size = max(1, events // batches)
    task = Task(broker.bootstrap_servers, topic, events, str(work / "growth"), batch=size, drains=1)
    drain = drain_alone(Contestant(Job.OURS, "tidemark", size), task)[0]
    seconds = drain.notes["seconds_per_batch"]
    bounds = [len(seconds) * part // _PARTS for part in range(_PARTS + 1)]
    return [median(seconds[a:b]) for a, b in pairwise(bounds) if b > a]


def render(seconds: list[float], batches: int) -> Table:
    """One row: it should be the same number from the second tenth on."""
    table = Table(title=f"Median seconds per batch, by tenth of {batches} batches", title_justify="left")
    for number, _ in enumerate(seconds, start=1):
        table.add_column(f"{number}.", justify="right")
    table.add_row(*(f"{value:.3f}" for value in seconds))
    return table
