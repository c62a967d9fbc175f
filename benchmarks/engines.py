"""Measures from how many rows of panes Spark publishes a window faster than the driver, and the memory of both.

Each engine runs in a process of its own, on the same panes. The second publication counts, because the first includes
lazy starts.
"""

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from rich.table import Table

from benchmarks.measure import peak_bytes
from benchmarks.report import figures_table
from benchmarks.rows import rows_of
from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.firing import WindowsDue
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.results.kind_registry import kind_of
from tidemark.pipeline.results.layout import create_tables
from tidemark.pipeline.results.publication import Publication
from tidemark.pipeline.runtime.java_process import java_pid
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import SparkSettings
from tidemark.pipeline.tables.appender import Appender
from tidemark.pipeline.tables.engines import Engine
from tidemark.pipeline.tables.executors import SparkExecutors
from tidemark.pipeline.tables.large import NOTHING, LargeJobs
from tidemark.pipeline.tables.schemas import PANES

_T = TypeVar("_T")
Figures = dict[int, dict[str, dict[str, float]]]
"""Seconds and bytes by rows of panes and engine."""

_MINUTE: Final = 60_000
REPORT: Final = Report("page_views", Grid(_MINUTE, _MINUTE), 0)
_ROUNDS: Final = 2
_ROWS_PER_USER: Final = 4
"""Rows of a user in a window, each from a batch of its own."""
_PIECE: Final = 2_500_000
"""Rows per commit, which bounds the memory of the writer."""
_MIB: Final = 2**20


def by_rows(numbers: Sequence[int], work: Path) -> Figures:
    """Returns the figures for windows of each of `numbers` rows of panes."""
    found: Figures = {}
    for number in numbers:
        warehouse = str(work / f"engines-{number}")
        apart(_write, warehouse, number)
        found[number] = {}
        for round_, engine in enumerate((Engine.DELTA_RS, Engine.SPARK)):
            found[number][engine.value] = apart(_measure, warehouse, engine, round_ * _ROUNDS)
    return found


def apart(function: Callable[..., _T], *arguments: object) -> _T:
    """Calls `function` in a process of its own, so that its memory is measured alone."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def _write(warehouse: str, number: int) -> None:
    create_tables(warehouse, Policy(Bounded(0), 1, 0, (REPORT,)))
    panes, users = Appender(PANES, warehouse), number // _ROWS_PER_USER
    for window in range(2 * _ROUNDS):
        for batch in range(1, _ROWS_PER_USER + 1):
            for rows in pane_rows(window, EPOCH + batch, users):
                panes.append(rows, EPOCH + batch)


def pane_rows(window: int, batch: int, users: int) -> Iterator[pa.Table]:
    """Yields a row for each of `users` in the window of that number, in pieces."""
    for begin in range(0, users, _PIECE):
        ids = pc.cast(pa.array(range(begin, min(users, begin + _PIECE))), pa.string())
        names = pc.binary_join_element_wise("user", ids, "-")
        counts = {c.PAGE_VIEWS: 1, c.CLICKS: 0, c.LATE_EVENTS: 0}
        times = {c.PANE_START: window * _MINUTE, c.WATERMARK: 0, c.CLOSED_UNTIL: 0}
        same = {c.BATCH: batch, c.REPORT: REPORT.name, **counts, **times}
        yield rows_of(PANES.schema, len(names), {**same, c.USER_ID: names})


def publish(publication: Publication, window: int, batch: int) -> None:
    """Publishes the window of that number, which fires with `batch`."""
    end = (window + 1) * _MINUTE
    publication.publish({REPORT.name: WindowsDue(fired=frozenset({end}), fired_by={end: batch})}, batch)


def _measure(warehouse: str, engine: Engine, first: int) -> dict[str, float]:
    large = NOTHING
    if engine is Engine.SPARK:
        large = LargeJobs(SparkExecutors(spark_session(SparkSettings())), 1)
    publication = Publication(warehouse, [kind_of(REPORT, large)])
    seconds = list[float]()
    for window in range(first, first + _ROUNDS):
        begun = time.perf_counter()
        publish(publication, window, EPOCH + 10 + window)
        seconds.append(time.perf_counter() - begun)
    java = java_pid()
    return {
        "first": seconds[0],
        "seconds": seconds[-1],
        "driver_bytes": peak_bytes(os.getpid()),
        "java_bytes": peak_bytes(java) if java else 0,
    }


def render(found: Figures) -> Table:
    """Returns a table with a row for each number of rows and engine."""
    heads = ["rows of panes", "engine", "first s", "then s", "Python MiB", "Java MiB"]
    rows = [
        [
            f"{number:,}",
            engine,
            *(f"{figures[name]:.2f}" for name in ("first", "seconds")),
            *(f"{figures[name] / _MIB:,.0f}" for name in ("driver_bytes", "java_bytes")),
        ]
        for number, engines in found.items()
        for engine, figures in engines.items()
    ]
    return figures_table("Publishing a window, by engine", heads, rows, words=2)
