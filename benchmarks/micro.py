"""Micro benchmarks, each of a cost that could grow: of a batch, and of publishing a day's window or sessions.

`growth` and `year` run the whole service; `day` and `sessions` write panes like it, without Kafka and Spark.
"""

import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable
from rich.table import Table

from benchmarks.contestants import ONE_REPORT, THREE_REPORTS, Contestant, Job
from benchmarks.drain import drain_alone
from benchmarks.report import by_number, figures_table
from benchmarks.rows import rows_of
from benchmarks.task import Reports, Task
from demo.broker import Broker
from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import window_states
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.firing import Firing, SessionsDue, WindowsDue
from tidemark.pipeline.event_time.lateness import closed_until, finals
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions, SessionState
from tidemark.pipeline.results.compaction import Compaction
from tidemark.pipeline.results.kind_registry import kind_of
from tidemark.pipeline.results.layout import create_tables
from tidemark.pipeline.results.publication import Publication
from tidemark.pipeline.tables.appender import Appender
from tidemark.pipeline.tables.schemas import PANES, result_of

Figures = dict[int, dict[str, float]]
"""Seconds and sizes by number of batches."""

_TENTHS: Final = 10
_MEGA: Final = 1e6
_DAY_MS: Final = 86_400_000
_COMPACT_EVERY: Final = 100
_DAY: Final = Report("page_views", Grid(_DAY_MS, _DAY_MS), 0)

_FEW: Final = 10
_BEGIN_MS: Final = 1_700_000_000_000
_BATCH_MS: Final = 1_000
_GAP_MS: Final = 30_000
_BOUND_MS: Final = 5_000
_STAY_BATCHES: Final = 60
"""Number of batches that a user stays; each user has an event in every third batch."""
_LATE_ONE_IN: Final = 100
_LATE_MS: Final = 80_000
_VISITS: Final = Report("visits", Sessions(_GAP_MS), 60_000)


def growth(broker: Broker, topic: str, events: int, batches: int, work: Path) -> list[float]:
    """Returns the median seconds between commits in each tenth of the batches. Raises BenchmarkError."""
    size = max(1, events // batches)
    task = Task(broker.bootstrap_servers, topic, events, str(work / "growth"), batch=size, drains=1)
    return _by_tenth(drain_alone(Contestant(Job.OURS, ONE_REPORT, size), task)[0].notes["seconds_per_batch"])


def _by_tenth(seconds: list[float]) -> list[float]:
    bounds = [len(seconds) * part // _TENTHS for part in range(_TENTHS + 1)]
    return [median(seconds[a:b]) for a, b in pairwise(bounds) if b > a]


def growth_table(seconds: list[float], batches: int) -> Table:
    """Returns a table of one row, which should not grow from the second tenth on."""
    title = f"Median seconds per batch, by tenth of {batches} batches"
    return figures_table(
        title, [f"{number}." for number in range(1, len(seconds) + 1)], [[f"{s:.3f}" for s in seconds]]
    )


def year(broker: Broker, topic: str, events: int, batches: int, work: Path) -> dict[int, dict[str, Any]]:
    """Drains a topic of few events in `batches` batches, and in as few as possible, with all default reports.

    Returns, by number of batches: total seconds, median seconds of a batch by tenth, seconds of a start afterwards,
    peak bytes of the Python process, rows of `page_views`, and files and bytes of all tables. Raises BenchmarkError.
    """
    found = {}
    for size in (max(1, events // batches), None):
        contestant = Contestant(Job.OURS, THREE_REPORTS, size, reports=Reports.DEFAULT)
        folder = str(work / f"year-{size}")
        task = Task(broker.bootstrap_servers, topic, events, folder, batch=size, drains=1, reports=Reports.DEFAULT)
        [drain] = drain_alone(contestant, task)
        each = drain.notes["seconds_per_batch"]
        found[len(each) + 1] = {
            "seconds": drain.seconds,
            "tenths": _by_tenth(each),
            "reopening_seconds": drain.notes["reopening_seconds"],
            "python_bytes": drain.notes["peak_bytes"]["python"],
            "rows": drain.window_rows,
            "files": drain.notes["files"],
            "bytes": sum(drain.notes["table_bytes"].values()),
        }
    return found


def year_table(found: Mapping[int, Mapping[str, Any]], events: int) -> Table:
    """Returns a table with a row per number of batches; late batches should take no longer than early batches."""
    heads = ["batches", "s", "s of a batch, 2nd tenth", "last tenth", "a start after it, s", "Python MB"]
    heads += ["rows of page_views", "files", "MB"]
    rows = [
        [
            f"{batches:,}",
            f"{year['seconds']:.0f}",
            *(f"{year['tenths'][index]:.3f}" if len(year["tenths"]) == _TENTHS else "-" for index in (1, -1)),
            f"{year['reopening_seconds']:.1f}",
            f"{year['python_bytes'] / _MEGA:,.0f}",
            f"{year['rows']:,}",
            f"{year['files']:,}",
            f"{year['bytes'] / _MEGA:,.1f}",
        ]
        for batches, year in found.items()
    ]
    return figures_table(f"A year with {events:,} events, three reports", heads, rows)


def day(batches: int, users: int, work: Path) -> Figures:
    """Publishes a day's window after 100 batches and after all `batches`; each batch has `users` rows of that day."""
    warehouse = str(work / "day")
    found: Figures = {}
    create_tables(warehouse, Policy(Bounded(0), 1, 0, (_DAY,)))
    panes, compaction = Appender(PANES, warehouse), Compaction(warehouse, [kind_of(_DAY)])
    for number in range(1, batches + 1):
        panes.append(_day_panes(number, users), EPOCH + number)
        if number % _COMPACT_EVERY == 0:
            for _ in compaction.steps(EPOCH + number, 0, {}):
                pass
        if number in (_COMPACT_EVERY, batches):
            firing = WindowsDue(refired=frozenset({_DAY_MS}), fired_by={_DAY_MS: EPOCH + number})
            seconds = _seconds_to_publish(warehouse, _DAY, firing, number)
            table = DeltaTable(PANES.uri(warehouse))
            found[number] = {"seconds": seconds, "files": len(table.file_uris()), "rows": _rows_in(table)}
    return found


def _day_panes(number: int, users: int) -> pa.Table:
    names = pa.array([f"user-{(number * users + index) % (10 * users)}" for index in range(users)])
    counts = {c.PAGE_VIEWS: 1, c.CLICKS: 0, c.LATE_EVENTS: 0}
    times = {c.PANE_START: 0, c.WATERMARK: 0, c.CLOSED_UNTIL: 0}
    same = {c.BATCH: EPOCH + number, c.REPORT: _DAY.name, **counts, **times}
    return rows_of(PANES.schema, users, {**same, c.USER_ID: names})


def day_table(found: Figures) -> Table:
    """Returns a table with a row for each publication."""
    heads = {"seconds": "seconds", "files": "files of panes", "rows": "rows of panes"}
    return by_number("Publishing a window of a day", "batches so far", found, heads)


def sessions(batches: int, rows: int, work: Path) -> Figures:
    """Publishes ten batches after a compaction and `batches` after it; each batch has `rows` partial sessions."""
    warehouse = str(work / "sessions")
    found: Figures = {}
    create_tables(warehouse, Policy(Bounded(_BOUND_MS), 1, 0, (_VISITS,)))
    panes, state, firing = Appender(PANES, warehouse), SessionState(_VISITS), SessionsDue()
    for number in range(1, 2 * batches + 1):
        panes.append(_session_panes(number, rows), EPOCH + number)
        step = window_states.moved(EPOCH + number, {_clock_ms(number)}, _watermark(number - 1), _watermark(number))
        new, state = state.after_batch(step)
        firing, since = firing.merge(new), number - batches
        # The measured publication replaces the result of the batch before it.
        if since in (0, _FEW - 1, _FEW, batches - 1, batches):
            seconds, firing = _seconds_to_publish(warehouse, _VISITS, firing, number), SessionsDue()
            if since in (_FEW, batches):
                published = _rows_in(DeltaTable(result_of(_VISITS).uri(warehouse)))
                in_panes = _rows_in(DeltaTable(PANES.uri(warehouse)))
                found[since] = {"seconds": seconds, "rows": in_panes, "sessions": published}
        if since == 0:
            compaction = Compaction(warehouse, [kind_of(_VISITS)])
            for _ in compaction.steps(EPOCH + number, *finals([_VISITS], _watermark(number))):
                pass
    return found


def _watermark(number: int) -> int:
    return _clock_ms(number) - _BOUND_MS


def _clock_ms(number: int) -> int:
    return _BEGIN_MS + number * _BATCH_MS


def _session_panes(number: int, rows: int) -> pa.Table:
    """Returns a batch of partial sessions of different users, with one or two events each."""
    chance = np.random.default_rng(number)
    users = number * 3 * rows // _STAY_BATCHES + chance.choice(3 * rows, rows, replace=False)
    first = _clock_ms(number) - chance.integers(0, _BOUND_MS, rows)
    # Late enough that their sessions may be closed.
    first[: rows // _LATE_ONE_IN] -= _LATE_MS
    watermark = _watermark(number - 1)
    times = {c.WATERMARK: watermark, c.CLOSED_UNTIL: closed_until(_VISITS, watermark)}
    same = {c.BATCH: EPOCH + number, c.REPORT: _VISITS.name, c.CLICKS: 0, c.LATE_EVENTS: 0, **times}
    own = {
        c.PANE_START: pa.array(first // _GAP_MS * _GAP_MS),
        c.FIRST_TIME: pa.array(first),
        c.LAST_TIME: pa.array(first + chance.integers(0, _BATCH_MS, rows)),
        c.USER_ID: pa.array([f"user-{user}" for user in users]),
        c.PAGE_VIEWS: pa.array(chance.integers(1, 3, rows)),
    }
    return rows_of(PANES.schema, rows, {**same, **own})


def sessions_table(found: Figures) -> Table:
    """Returns a table with a row per publication; its title has the ratio of the last to the first."""
    few, *_, many = (figures["seconds"] for figures in found.values())
    title = f"Publishing sessions: {many / few:.1f} times as long at the end"
    heads = {"seconds": "seconds", "rows": "rows of panes", "sessions": "published sessions"}
    return by_number(title, "batches since compaction", found, heads)


def _seconds_to_publish(warehouse: str, report: Report, firing: Firing, number: int) -> float:
    publication = Publication(warehouse, [kind_of(report)])
    began = time.perf_counter()
    publication.publish({report.name: firing}, EPOCH + number)
    return time.perf_counter() - began


def _rows_in(table: DeltaTable) -> int:
    return int(table.to_pyarrow_dataset().count_rows())
