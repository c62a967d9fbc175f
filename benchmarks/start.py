"""Measures cold starts: from the start of a process to its first committed batch, ours and the textbook's in turn."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from rich.table import Table

from benchmarks.contestants import ONE_REPORT, THREE_REPORTS, Contestant, Job
from benchmarks.data import backlog
from benchmarks.drain import drain_alone
from benchmarks.report import figures_table
from benchmarks.task import FIRST_COMMIT, Reports, Task

EVENTS: Final = 20_000
"""One small batch, because the time before it and the cost of a first batch count."""
ROUNDS: Final = 3
"""Number of rounds over all contestants."""
_CONTESTANTS: Final = (
    Contestant(Job.OURS, ONE_REPORT),
    Contestant(Job.OURS, THREE_REPORTS, reports=Reports.DEFAULT),
    Contestant(Job.TUNED, "textbook, tuned"),
    Contestant(Job.DEFAULTS, "textbook, default settings"),
)


def starts(rounds: int, data_dir: Path, work: Path) -> dict[str, list[float]]:
    """Returns seconds by contestant, one value per round. Raises BenchmarkError."""
    seconds: dict[str, list[float]] = {}
    with backlog(EVENTS, data_dir) as (broker, topic):
        for number in range(rounds):
            for index, contestant in enumerate(_CONTESTANTS):
                folder = str(work / f"start-{number}-{index}")
                task = Task(
                    broker.bootstrap_servers, topic, EVENTS, folder, drains=1, reports=contestant.reports
                )  # fmt: skip
                began = time.time()
                [done] = drain_alone(contestant, task)
                seconds.setdefault(contestant.title, []).append(done.notes[FIRST_COMMIT] - began)
    return seconds


def render(found: Mapping[str, Sequence[float]]) -> Table:
    """Returns a table with a row for each contestant."""
    rows = [[title, f"{median(all_s):.1f}", " ".join(f"{s:.1f}" for s in all_s)] for title, all_s in found.items()]
    title = f"Cold start: from a process to its first committed batch of {EVENTS:,} events"
    return figures_table(title, ["contestant", "median s", "all, s"], rows, words=1)
