"""Measures how many rows a second the driver writes ahead and publishes, by the number of its cores.

Each number of cores has a process of its own, which can use no other core. Each user of a window has one row, which is
the worst case. Spark's part is not measured: making the rows, and sending them to the driver.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.table import Table

from benchmarks.engines import REPORT, apart, pane_rows, publish
from benchmarks.measure import Stopwatch
from benchmarks.report import figures_table
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.results.kind_registry import kind_of
from tidemark.pipeline.results.layout import create_tables
from tidemark.pipeline.results.publication import Publication
from tidemark.pipeline.tables.appender import Appender
from tidemark.pipeline.tables.large import NOTHING
from tidemark.pipeline.tables.schemas import PANES

Figures = dict[int, dict[str, float]]
"""Rows and seconds by number of cores."""

_WINDOWS: Final = 3
"""The last one counts."""


def by_cores(rows: int, work: Path) -> Figures:
    """Returns the figures of a window of `rows` for 1, 2, 4 ... and all cores that this process may use."""
    usable = sorted(os.sched_getaffinity(0))
    counts = sorted({*(2**power for power in range(len(usable).bit_length())), len(usable)})
    return {count: apart(_measure, str(work / f"driver-{count}"), rows, usable[:count]) for count in counts}


def _measure(warehouse: str, rows: int, cores: Sequence[int]) -> dict[str, float]:
    os.sched_setaffinity(0, cores)  # the threads of delta-rs start later, and inherit it
    create_tables(warehouse, Policy(Bounded(0), 1, 0, (REPORT,)))
    panes, publication = Appender(PANES, warehouse), Publication(warehouse, [kind_of(REPORT, NOTHING)])
    writing, publishing = Stopwatch(), Stopwatch()
    for window in range(_WINDOWS):
        batch = EPOCH + 1 + window
        pieces = [*pane_rows(window, batch, rows)]
        with writing:
            for piece in pieces:
                panes.append(piece, batch)
        with publishing:
            publish(publication, window, batch)
    return {
        "rows": rows,
        "write_seconds": writing.seconds,
        "publish_seconds": publishing.seconds,
        "cpu_seconds": writing.cpu_seconds + publishing.cpu_seconds,
    }


def render(found: Figures) -> Table:
    """Returns a table with a row for each number of cores."""
    heads = ["cores", "write ahead s", "publish s", "rows/s", "CPU us per row"]
    rows = [
        [
            str(cores),
            f"{figures['write_seconds']:.2f}",
            f"{figures['publish_seconds']:.2f}",
            f"{figures['rows'] / (figures['write_seconds'] + figures['publish_seconds']):,.0f}",
            f"{figures['cpu_seconds'] * 1e6 / figures['rows']:.2f}",
        ]
        for cores, figures in found.items()
    ]
    return figures_table("Rows of the driver, by its cores", heads, rows)
