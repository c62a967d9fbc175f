"""Measures the gain of a second worker: drains the backlog on clusters of one and two workers in turn."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rich.table import Table

from benchmarks.compared import compared, comparison
from benchmarks.drain import Plan, drain_by
from benchmarks.task import Drain, Task
from demo.broker import Broker

COUNTS: Final = (1, 2)
_MODULE: Final = "benchmarks.on_workers"


def drains_by_workers(plan: Plan, broker: Broker, topic: str, work: Path) -> Iterator[tuple[int, list[Drain]]]:
    """Drains with one report on a cluster of each of `COUNTS` workers, round after round. Raises BenchmarkError."""
    for number in range(plan.rounds):
        for workers in COUNTS:
            folder = str(work / f"workers-{number}-{workers}")
            task = Task(broker.bootstrap_servers, topic, plan.events, folder, drains=plan.drains, workers=workers)
            yield workers, drain_by(_MODULE, task)


def figures(rounds: dict[int, list[list[Drain]]], events: int) -> dict[int, dict[str, Any]]:
    """Returns the figures of each number of workers, compared with one worker."""
    return compared(rounds, events, COUNTS[0])


def render(found: dict[int, dict[str, Any]], events: int) -> Table:
    """Returns a table with a row for each number of workers."""
    title = f"{events:,} events, drained on a cluster of workers with one core each"
    return comparison(title, ["workers", "M events/s", "x one worker", "CPU us/event"], found)
