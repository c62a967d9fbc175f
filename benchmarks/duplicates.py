"""Measures the cost of deduplication: the backlog with and without it, and look-ups among growing numbers of ids."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
from rich.table import Table

from benchmarks.compared import compared
from benchmarks.contestants import Contestant, Job
from benchmarks.drain import Plan, drain_alone
from benchmarks.report import by_number, figures_table
from benchmarks.task import Drain, Task
from demo.broker import Broker
from tidemark.pipeline.event_time.event_ids import Ids, RememberedIds
from tidemark.pipeline.tables.schemas import EVENT_IDS

OFF: Final = "off"
ON: Final = "event_id"
_ASKED: Final = 50_000
_TURNS: Final = 10
_MEGA: Final = 1e6


def drains(plan: Plan, broker: Broker, topic: str, work: Path) -> Iterator[tuple[str, list[Drain]]]:
    """Drains with one report, with deduplication off and on in turn, round after round. Raises BenchmarkError."""
    for number in range(plan.rounds):
        for deduplicate in (OFF, ON):
            folder = str(work / f"duplicates-{number}-{deduplicate}")
            task = Task(
                broker.bootstrap_servers, topic, plan.events, folder, drains=plan.drains, deduplicate=deduplicate
            )
            yield deduplicate, drain_alone(Contestant(Job.OURS, f"deduplicate = {deduplicate}"), task)


def figures(rounds: dict[str, list[list[Drain]]], events: int) -> dict[str, dict[str, Any]]:
    """Returns the figures of both by the median of the last drains, with Python's peak memory and the bytes of ids."""
    found = compared(rounds, events, OFF)
    for deduplicate, each in rounds.items():
        last = [run[-1] for run in each]
        found[deduplicate]["python_bytes"] = max(drain.notes["peak_bytes"]["python"] for drain in last)
        found[deduplicate]["table_bytes"] = median(drain.notes["table_bytes"].get(EVENT_IDS.name, 0) for drain in last)
    return found


def render(found: dict[str, dict[str, Any]], events: int) -> Table:
    """Returns a table with a row for off and on."""
    rows = [
        [
            deduplicate,
            f"{row['rate'] / _MEGA:.3f}",
            f"{row['of_base']:.2f}",
            f"{row['cpu_us_per_record']:.2f}",
            f"{row['cpu_us_per_record'] / found[OFF]['cpu_us_per_record']:.2f}",
            f"{row['python_bytes'] / _MEGA:,.0f}",
            f"{row['table_bytes'] / events:.1f}",
        ]
        for deduplicate, row in found.items()
    ]
    heads = ["deduplicate", "M events/s", "x off", "CPU us/event", "x off", "Python MB", "event_ids B/event"]
    return figures_table(f"{events:,} events, each sent once", heads, rows, words=1)


def look_ups(sizes: Sequence[int]) -> dict[int, dict[str, float]]:
    """Returns, by number of remembered ids: milliseconds to look up and to add a batch, and bytes per id."""
    generator = np.random.default_rng(1)
    return {size: _look_up(size, generator) for size in sizes}


def _look_up(size: int, generator: np.random.Generator) -> dict[str, float]:
    remembered, asking, taking = RememberedIds.of(_new(size, generator)), [], []
    positions = np.arange(_ASKED)
    for _ in range(_TURNS):
        batch = _new(_ASKED, generator)
        began = time.perf_counter()
        remembered.repeated(batch, positions, 0)
        asked = time.perf_counter()
        remembered = remembered.after(batch, 0)
        asking.append(asked - began)
        taking.append(time.perf_counter() - asked)
    size_bytes = sum(column.nbytes for run in remembered.runs for column in (run.high, run.low, run.time))
    # Merges are rare and expensive, so the mean counts.
    per_id = size_bytes / len(remembered)
    return {"look_up_ms": 1e3 * median(asking), "taking_ms": 1e3 * sum(taking) / _TURNS, "bytes_per_id": per_id}


def _new(size: int, generator: np.random.Generator) -> Ids:
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    return Ids(generator.integers(low, high, size), generator.integers(low, high, size), np.zeros(size, np.int64))


def look_ups_table(found: dict[int, dict[str, float]]) -> Table:
    """Returns a table with a row for each number of ids."""
    heads = {"look_up_ms": "look-up ms", "taking_ms": "taking ms", "bytes_per_id": "bytes per id"}
    return by_number(f"A batch of {_ASKED:,} by number of remembered ids", "ids", found, heads)
