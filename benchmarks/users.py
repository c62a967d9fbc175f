"""Measures the cost of users in time, memory and bytes: equal numbers of events of more users and of unequal users."""

import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeVar

from rich.table import Table

from benchmarks.contestants import THREE_REPORTS, Contestant, Job
from benchmarks.data import Crowd, backlog
from benchmarks.drain import Plan, drain_alone
from benchmarks.drain_report import WRITTEN
from benchmarks.report import figures_table
from benchmarks.task import Drain, Reports, Task

_K = TypeVar("_K", bound=Hashable)
_MEGA: Final = 1e6
_TABLES: Final = ("panes", "dead_letters", "ledger")
"""Tables with a column of their own; all other tables are results."""
_ZIPF: Final = 1.0
_HOT_SHARE: Final = 0.1


def crowds(counts: Sequence[int], unequal: int) -> list[Crowd]:
    """Returns a crowd for each of `counts`, and two of `unequal` users: by Zipf's law, and with a user of 10 %."""
    return [*map(Crowd, counts), Crowd(unequal, zipf=_ZIPF), Crowd(unequal, hot_share=_HOT_SHARE)]


def drains_by_crowd(
    plan: Plan, among: Sequence[Crowd], data_dir: Path, work: Path
) -> Iterator[tuple[Crowd, list[Drain]]]:
    """Drains with all default reports, a topic for each crowd, round after round.

    Raises BenchmarkError.
    """
    for number in range(plan.rounds):
        for crowd in among:
            with backlog(plan.events, data_dir, crowd) as (broker, topic):
                folder = str(work / f"users-{number}-{crowd.of_topic}")
                task = Task(
                    broker.bootstrap_servers, topic, plan.events, folder, drains=plan.drains, reports=Reports.DEFAULT
                )  # fmt: skip
                yield crowd, drain_alone(Contestant(Job.OURS, THREE_REPORTS, reports=Reports.DEFAULT), task)


def figures(rounds: Mapping[_K, list[list[Drain]]], events: int) -> dict[str, dict[str, Any]]:
    """Returns, by crowd or kind of windows, of the last drains: rate, CPU, peak memory, and bytes of the tables."""
    found = {}
    for kind, each in rounds.items():
        last = [drains[-1] for drains in each]
        files: dict[str, int] = last[0].notes["table_bytes"]
        found[str(kind)] = {
            "rate": events / median(drain.seconds for drain in last),
            "cpu_us_per_event": median(drain.cpu_seconds for drain in last) / events * 1e6,
            "python_bytes": max(drain.notes["peak_bytes"]["python"] for drain in last),
            "java_bytes": max(drain.notes["peak_bytes"]["java"] for drain in last),
            "reopening_seconds": median(drain.notes["reopening_seconds"] for drain in last),
            "result_rows": last[0].window_rows,
            "amplification": last[0].notes["amplification"],
            "table_bytes": files,
        }
    return found


def render(found: dict[str, dict[str, Any]], events: int, title: str, head: str) -> Table:
    """Returns a table with a row for each crowd or kind; bytes of tables are per event."""
    heads = [head, "M events/s", "CPU us/event", "Python MB", "Java MB", "reopened s", "rows of page_views"]
    heads += [*(f"{name} B/event" for name in (*_TABLES, "results")), WRITTEN]
    return figures_table(
        f"{events:,} {title}, on {os.cpu_count()} cores",
        heads,
        [_row(kind, row, events) for kind, row in found.items()],
        words=1,
    )


def _row(kind: str, row: dict[str, Any], events: int) -> list[str]:
    files = row["table_bytes"]
    results = sum(size for name, size in files.items() if name not in _TABLES)
    return [
        kind,
        f"{row['rate'] / _MEGA:.3f}",
        f"{row['cpu_us_per_event']:.2f}",
        *(f"{row[name] / _MEGA:,.0f}" for name in ("python_bytes", "java_bytes")),
        f"{row['reopening_seconds']:.1f}",
        f"{row['result_rows']:,}",
        *(f"{size / events:.1f}" for size in (*(files[name] for name in _TABLES), results)),
        f"{row['amplification']:.2f}",
    ]
