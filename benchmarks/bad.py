"""Measures the cost of bad records: drains topics of bad records only, in turn with a topic of good events."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rich.table import Table

from benchmarks.bad_topics import FRAMED, NOISE, bad_topic
from benchmarks.compared import compared, comparison
from benchmarks.contestants import Contestant, Job
from benchmarks.drain import Plan, drain_alone
from benchmarks.task import Drain, Task
from demo.broker import Broker

GOOD: Final = "good"
GOAL: Final = 0.5
"""Goal: the minimal rate of bad records as a share of the rate of good records."""


def drains_by_kind(plan: Plan, broker: Broker, topic: str, work: Path) -> Iterator[tuple[str, list[Drain]]]:
    """Drains each kind of records in a process of its own, round after round; `topic` has the good records.

    Raises BenchmarkError.
    """
    topics = {GOOD: topic, **{kind: bad_topic(broker, kind, plan.events) for kind in (NOISE, FRAMED)}}
    for number in range(plan.rounds):
        for kind, name in topics.items():
            folder = str(work / f"bad-{number}-{name}")
            task = Task(broker.bootstrap_servers, name, plan.events, folder, drains=plan.drains)
            yield kind, drain_alone(Contestant(Job.OURS, kind), task)


def figures(rounds: dict[str, list[list[Drain]]], records: int) -> dict[str, dict[str, Any]]:
    """Returns the figures of each kind, compared with good records."""
    return compared(rounds, records, GOOD)


def render(found: dict[str, dict[str, Any]], records: int) -> Table:
    """Returns a table with a row per kind."""
    title = f"{records:,} records, all good or all bad: goal at least {GOAL:.1f} of the rate of good records"
    return comparison(title, ["records", "M records/s", "of good", "CPU us/record"], found)
