"""A cold start: from the start of a process to its first committed batch, ours and the textbook's in turn."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from rich.table import Table

from benchmarks.contestants import ALL_REPORTS, ONE_REPORT, Contestant, Job
from benchmarks.data import backlog
from benchmarks.drain import drain_alone
from benchmarks.report import figures_table
from benchmarks.task import FIRST_COMMIT, Task

EVENTS: Final = 20_000
"""One small batch: what counts is what comes before it, and what a first batch costs."""
_CONTESTANTS: Final = (
    Contestant(Job.OURS, ONE_REPORT),
    Contestant(Job.OURS, ALL_REPORTS, all_reports=True),
    Contestant(Job.TUNED, "textbook, tuned"),
    Contestant(Job.DEFAULTS, "textbook, default settings"),
)


def starts(rounds: int, data_dir: Path, work: Path) -> dict[str, list[float]]:
    """Returns seconds of each contestant, round by round. Raises BenchmarkError."""
    found: dict[str, list[float]] = {}
    with backlog(EVENTS, data_dir) as (broker, topic):
        for number in range(rounds):
            for place, contestant in enumerate(_CONTESTANTS):
                folder = str(work / f"start-{number}-{place}")
                task = Task(
                    broker.bootstrap_servers, topic, EVENTS, folder, drains=1, all_reports=contestant.all_reports
                )  # fmt: skip
                began = time.time()
                [done] = drain_alone(contestant, task)
                found.setdefault(contestant.title, []).append(done.notes[FIRST_COMMIT] - began)
    return found


def render(found: Mapping[str, Sequence[float]]) -> Table:
    """One row for each contestant."""
    rows = [[title, f"{median(each):.1f}", " ".join(f"{one:.1f}" for one in each)] for title, each in found.items()]
    title = f"Cold start: from a process to its first committed batch of {EVENTS:,} events"
    return figures_table(title, ["contestant", "median s", "all, s"], rows, words=1)
