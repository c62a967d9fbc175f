"""Measures whether views of the dashboard take longer with more rows in the warehouse, on the real server."""

import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final
from urllib.error import HTTPError

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from rich.table import Table

from benchmarks.ledger_rows import Batches, ledger_rows
from benchmarks.report import figures_table
from benchmarks.rows import rows_of
from demo.children import Child, child, free_port
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.results.layout import create_tables
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.housekeeping import merge_small_files
from tidemark.pipeline.tables.opening import Opening
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, LEDGER, PANES, TableSpec, result_of

_USERS: Final = 46_000
_ROWS: Final[dict[tuple[str, ...], int]] = {("user_id",): _USERS, ("page_url",): 500}
"""Rows per window by the keys of a report; a report without keys has one row."""
_MINUTE: Final = 60_000
_MICRO: Final = 1000
_BEGIN_MS: Final = 1_700_000_040_000
_BATCHES: Final = 60
"""Batches per window."""
_LETTERS: Final = 500
"""Dead letters per window."""
_MERGE_EVERY: Final = 64
_ANSWER_S: Final = 600
_APART_S: Final = 0.6
"""Pause in seconds, so that no request gets the cached answer of the previous request."""
_VIEWS: Final = {
    "first screen": "/",
    "pipeline": "/pipeline",
    "report by user": "/reports/page_views",
    "user of every window": "/users?id=u7",
    "unknown user": "/users?id=nobody",
    "page": "/pages?url=/p/7",
    "dead letters": "/dead-letters",
    "dead letters of an unused reason": "/dead-letters?reason=future",
}
_DASHBOARD: Final = (sys.executable, "-m", "tidemark.pipeline.cli", "dashboard")
_POLICY: Final = Settings().policy()


def views_by_rows(numbers: Sequence[int], looks: int, work: Path) -> dict[int, dict[str, dict[str, float]]]:
    """Returns median and highest seconds of each view by rows of `page_views`; commits a batch before each request."""
    found = {}
    for number in numbers:
        warehouse = work / f"views-{number}"
        windows = max(1, number // _USERS)
        write_warehouse(str(warehouse), windows)
        with dashboard_of(warehouse, work) as (port, dashboard):
            found[number] = {name: _measure(warehouse, windows, port, path, looks) for name, path in _VIEWS.items()}
            dashboard.check()
    return found


def _measure(warehouse: Path, windows: int, port: int, path: str, looks: int) -> dict[str, float]:
    seconds = []
    for _ in range(looks):
        commit_batch(str(warehouse), windows)
        time.sleep(_APART_S)
        begun = time.perf_counter()
        ask(port, path)
        seconds.append(time.perf_counter() - begun)
    return {"median": median(seconds), "highest": max(seconds)}


def ask(port: int, path: str) -> None:
    """Asks until the answer is complete: a reading may take longer than the dashboard lets a page or program wait."""
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=_ANSWER_S) as answer:
                answer.read()
        except HTTPError as error:
            answer = error
            if "Retry-After" not in error.headers:
                raise
        if "Retry-After" not in answer.headers:
            return


@contextmanager
def dashboard_of(warehouse: Path, work: Path) -> Iterator[tuple[int, Child]]:
    """Runs the dashboard of a warehouse; yields its port once it answers. Raises RuntimeError after ten minutes."""
    port = free_port()
    command = (*_DASHBOARD, "--warehouse", str(warehouse), "--dashboard.port", str(port))
    with child("dashboard", command, work) as dashboard:
        _await_page(port)
        yield port, dashboard


def _await_page(port: int) -> None:
    """Waits until the dashboard has read its first page. Raises RuntimeError after ten minutes."""
    for _ in range(_ANSWER_S * 10):
        try:
            return ask(port, "/")
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the dashboard of a benchmark does not answer")


def write_warehouse(warehouse: str, windows: int) -> None:
    """Writes the warehouse of a service that has run for `windows` minutes, with its small files merged."""
    ledger = Handle.of(LEDGER, warehouse).table
    opening = Opening(_POLICY, {}).to_text()
    write_deltalake(ledger, _ledger(np.array([0]), opening), mode="append")
    create_tables(warehouse, _POLICY)
    specs = [result_of(report) for report in _POLICY.reports]
    for window in range(windows):
        for report, spec in zip(_POLICY.reports, specs, strict=True):
            write_deltalake(DeltaTable(spec.uri(warehouse)), _results(report, spec, window), mode="append")
        write_deltalake(DeltaTable(DEAD_LETTERS.uri(warehouse)), _letters(window), mode="append")
        write_deltalake(ledger, _ledger(1 + window * _BATCHES + np.arange(_BATCHES)), mode="append")
        if window % _MERGE_EVERY == _MERGE_EVERY - 1:
            for spec in (DEAD_LETTERS, *specs):
                merge_small_files(warehouse, spec, EPOCH)
            ledger.update_incremental()
    for data in _panes(_POLICY, windows):
        write_deltalake(DeltaTable(PANES.uri(warehouse)), data, mode="append", partition_by=list(PANES.partition_by))


def commit_batch(warehouse: str, windows: int) -> None:
    """Commits a batch, so that the ledger has changed."""
    ledger = DeltaTable(LEDGER.uri(warehouse))
    write_deltalake(ledger, _ledger(np.array([windows * _BATCHES + ledger.version()])), mode="append")


def _ledger(numbers: Batches, opening: str | None = None) -> pa.Table:
    rejected = _LETTERS // _BATCHES
    now = _BEGIN_MS + numbers * (_MINUTE // _BATCHES)
    return ledger_rows(numbers, now, now - _MINUTE, rejected=rejected, opening=opening)


def _results(report: Report, spec: TableSpec, window: int) -> pa.Table:
    number = _ROWS.get(report.keys, 1)
    start = (_BEGIN_MS + window * _MINUTE) * _MICRO
    moment = pa.timestamp("us", tz="UTC")
    times = {"window_start": start, "window_end": start + _MINUTE * _MICRO}
    fixed = {name: pa.array(np.full(number, value)).cast(moment) for name, value in times.items()}
    last = EPOCH + (window + 1) * _BATCHES
    counts = {"page_views": pa.array(np.arange(number) % 7 + 1), "clicks": 1, "late_events": 0, "published_batch": last}
    return rows_of(spec.schema, number, {**fixed, **_keys(report, number), **counts})


def _keys(report: Report, number: int) -> dict[str, Any]:
    made = {"user_id": "u{}", "page_url": "/p/{}"}
    return {key: pa.array([made[key].format(n) for n in range(number)]) for key in report.keys}


def _panes(policy: Policy, windows: int) -> Iterator[pa.Table]:
    """Yields the panes of the open window, in ten unmerged batches."""
    for batch in range(10):
        for report in policy.reports:
            number = _ROWS.get(report.keys, 1)
            fixed = {"report": report.name, "pane_start": _BEGIN_MS + windows * _MINUTE, "page_views": 1, "clicks": 0}
            own = {"batch": EPOCH + windows * _BATCHES - batch, "late_events": 0, "watermark": 0, "closed_until": 0}
            yield rows_of(PANES.schema, number, {**fixed, **own, **_keys(report, number)})


def _letters(window: int) -> pa.Table:
    batches = EPOCH + 1 + window * _BATCHES + np.arange(_LETTERS) * _BATCHES // _LETTERS
    offsets = window * _LETTERS + np.arange(_LETTERS)
    users = pa.array([f"u{n}" for n in range(_LETTERS)])
    same = {"reason": "too_late", "detail": "too late", "topic": "events", "partition": 0, "value": b"\0" * 200}
    times = dict.fromkeys(("kafka_timestamp", "event_time", "watermark"), _BEGIN_MS + window * _MINUTE)
    own = {"offset": pa.array(offsets), "batch": pa.array(batches), "user_id": users}
    return rows_of(DEAD_LETTERS.schema, _LETTERS, {**same, **times, **own})


def render(found: dict[int, dict[str, dict[str, float]]]) -> Table:
    """Returns a table with a row for each view, and the median and highest time for each number of rows."""
    heads = ["view", *(f"{number:,} rows: {kind}" for number in found for kind in ("median ms", "highest"))]
    rows = [
        [view, *(f"{found[number][view][kind] * 1000:.0f}" for number in found for kind in ("median", "highest"))]
        for view in _VIEWS
    ]
    return figures_table("Views of the dashboard, by rows of page_views", heads, rows, words=1)
