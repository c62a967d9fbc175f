"""What users cost: the same number of events of more and more of them, in time, in memory and on the disk."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from rich.table import Table

from benchmarks.contestants import ALL_REPORTS, Contestant, Job
from benchmarks.data import backlog
from benchmarks.drain import Plan, drain_alone
from benchmarks.drain_report import WRITTEN
from benchmarks.report import figures_table
from benchmarks.task import Drain, Task

_MEGA: Final = 1e6
_TABLES: Final = ("panes", "dead_letters", "ledger")
"""The tables whose bytes have columns of their own; all others are results."""


def drains_by_users(plan: Plan, counts: Sequence[int], data_dir: Path, work: Path) -> Iterator[tuple[int, list[Drain]]]:
    """Drains, with all reports out of the box, a topic for each number of users, round after round.

    Raises BenchmarkError.
    """
    for number in range(plan.rounds):
        for users in counts:
            with backlog(plan.events, data_dir, users) as (broker, topic):
                folder = str(work / f"users-{number}-{users}")
                task = Task(
                    broker.bootstrap_servers, topic, plan.events, folder, drains=plan.drains, all_reports=True
                )  # fmt: skip
                yield users, drain_alone(Contestant(Job.OURS, ALL_REPORTS, all_reports=True), task)


def figures(rounds: dict[int, list[list[Drain]]], events: int) -> dict[int, dict[str, Any]]:
    """By number of users, of the last drains: rate, CPU, memory at its most, and bytes of the tables."""
    found = {}
    for users, each in rounds.items():
        last = [drains[-1] for drains in each]
        files: dict[str, int] = last[0].notes["table_bytes"]
        found[users] = {
            "rate": events / median(drain.seconds for drain in last),
            "cpu_us_per_event": median(drain.cpu_seconds for drain in last) / events * 1e6,
            "python_bytes": max(drain.notes["peak_bytes"]["python"] for drain in last),
            "java_bytes": max(drain.notes["peak_bytes"]["java"] for drain in last),
            "result_rows": last[0].window_rows,
            "amplification": last[0].notes["amplification"],
            "table_bytes": files,
        }
    return found


def render(found: dict[int, dict[str, Any]], events: int) -> Table:
    """One row for each number of users; bytes of tables are by event."""
    title = f"{events:,} events of so many users, three reports, on {os.cpu_count()} cores"
    heads = ["users", "M events/s", "CPU us/event", "Python MB", "Java MB", "rows of page_views"]
    heads += [*(f"{name} B/event" for name in (*_TABLES, "results")), WRITTEN]
    return figures_table(title, heads, [_row(users, row, events) for users, row in found.items()])


def _row(users: int, row: dict[str, Any], events: int) -> list[str]:
    files = row["table_bytes"]
    results = sum(size for name, size in files.items() if name not in _TABLES)
    return [
        f"{users:,}",
        f"{row['rate'] / _MEGA:.3f}",
        f"{row['cpu_us_per_event']:.2f}",
        *(f"{row[name] / _MEGA:,.0f}" for name in ("python_bytes", "java_bytes")),
        f"{row['result_rows']:,}",
        *(f"{size / events:.1f}" for size in (*(files[name] for name in _TABLES), results)),
        f"{row['amplification']:.2f}",
    ]
