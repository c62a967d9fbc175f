"""Writes the warehouse of a service with `[site]` that has run for many days."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from benchmarks.ledger_rows import ledger_rows
from benchmarks.rows import rows_of
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.instants import ms_of
from tidemark.pipeline.results.layout import create_tables
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.sketches import sketch_of
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.opening import Opening
from tidemark.pipeline.tables.schemas import LEDGER, PANES, result_of
from tidemark.pipeline.tables.transactions import CLOSED_APP, PUBLISHED_APP

_POLICY: Final = Settings.model_validate({"site": {"zone": "UTC"}}).policy()
_OTHERS: Final = ("page_views", "page_traffic", "site_traffic")
"""The default reports, whose minutes are not asked for."""
POLICY: Final = replace(_POLICY, reports=tuple(each for each in _POLICY.reports if each.name not in _OTHERS))
END_MS: Final = ms_of(datetime(2026, 11, 29, 12, 30, tzinfo=UTC))
"""The watermark, within the last day."""
_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS
_MICRO: Final = 1000
_BATCHES: Final = 1_000
_DAYS_OF_FILE: Final = 30
_PAGES: Final = 100
_HOSTS: Final = 20
_ROWS_WITHOUT_USERS: Final = 1440 + 25 * (1 + _PAGES + _HOSTS)
"""Of a day."""
_PER_USER: Final = {"hours": 24, "days": 8, "visits": 12}
"""Rows of a day for each user of an hour."""


@dataclass(frozen=True, slots=True)
class _Days:
    """Whole days from `start` (ms) on; `users` is the number of users of an hour."""

    start: int
    count: int
    users: int


def write_site(warehouse: str, rows: int, days: int = 365) -> None:
    """Writes about `rows` rows of results of `days` days up to `END_MS`, in a file for each month and report."""
    users = max(1, (rows // days - _ROWS_WITHOUT_USERS) // sum(_PER_USER.values()))
    first = END_MS - END_MS % _DAY_MS - (days - 1) * _DAY_MS
    ledger = Handle.of(LEDGER, warehouse).table
    numbers = np.arange(_BATCHES + 1)
    times = first + (END_MS - first) * numbers // _BATCHES
    write_deltalake(ledger, ledger_rows(numbers[:1], times[:1], times[:1], opening=_opening()), mode="append")
    write_deltalake(ledger, ledger_rows(numbers[1:], times[1:], times[:-1]), mode="append")
    create_tables(warehouse, POLICY)
    done = [Transaction(PUBLISHED_APP, EPOCH + _BATCHES), Transaction(CLOSED_APP, END_MS - _HOUR_MS)]
    for report in POLICY.reports:
        table = DeltaTable(result_of(report).uri(warehouse))
        for day in range(0, days, _DAYS_OF_FILE):
            span = _Days(first + day * _DAY_MS, min(_DAYS_OF_FILE, days - day), users)
            write_deltalake(
                table, _results(report, span), mode="append", commit_properties=CommitProperties(app_transactions=done)
            )
    panes = DeltaTable(PANES.uri(warehouse))
    for report in POLICY.reports:
        write_deltalake(panes, _panes(report, users), mode="append", partition_by=list(PANES.partition_by))


def commit_batch(warehouse: str) -> None:
    """Commits a batch without windows, after which answers are computed again."""
    ledger = DeltaTable(LEDGER.uri(warehouse))
    number, time = np.array([_BATCHES + ledger.version()]), np.array([END_MS])
    write_deltalake(ledger, ledger_rows(number, time, time), mode="append")


def _opening() -> str:
    return Opening(POLICY, {}).to_text()


def _results(report: Report, days: _Days) -> pa.Table:
    """Returns the rows of windows that ended at or before `END_MS`."""
    if isinstance(report.windows, Sessions):
        return _visits(report, days)
    size, in_window = _shape(report, days.users)
    windows = days.count * _DAY_MS // size
    starts = days.start + np.repeat(np.arange(windows), in_window) * size
    starts = starts[starts + size <= END_MS]
    number = np.arange(len(starts)) % in_window
    # A user of a day is one of those of its hours.
    ids = (number * 7919 + starts // size * 31) % (days.users * _PER_USER["days"])
    keys = {key: _texts(key, ids if key == "user_id" else number) for key in report.keys}
    counts: dict[str, Any] = {"page_views": pa.array(number % 7 + 1), "clicks": 1, "unique_users": 1}
    return _rows(report, starts, starts + size, {**keys, **counts, "users_sketch": _sketch(in_window)})


def _visits(report: Report, days: _Days) -> pa.Table:
    in_day = days.users * _PER_USER["visits"]
    number = np.arange(days.count * in_day)
    starts = days.start + number * _DAY_MS // in_day
    duration = number * 7919 % 900_000
    gap = report.windows.gap_ms if isinstance(report.windows, Sessions) else 0
    known = starts + duration + gap <= END_MS
    starts, duration, number = starts[known], duration[known], number[known]
    texts = {name: _texts("page_url", number % _PAGES) for name in ("entry_page", "exit_page")}
    own = {
        "user_id": _texts("user_id", number % (days.users * _PER_USER["days"])),
        "referring_host": _texts("referring_host", number % _HOSTS),
        "duration_ms": pa.array(duration),
        "bounced": pa.array(number % 2),
        "first_event_ms": pa.array(starts),
        "last_event_ms": pa.array(starts + duration),
        "page_views": pa.array(number % 5 + 1),
        "clicks": 0,
    }
    return _rows(report, starts, starts + duration + gap, {**texts, **own})


def _rows(report: Report, starts: Any, ends: Any, columns: dict[str, Any]) -> pa.Table:
    spec, moment = result_of(report), pa.timestamp("us", tz="UTC")
    times = {"window_start": starts, "window_end": ends}
    bounds = {name: pa.array(values * _MICRO).cast(moment) for name, values in times.items()}
    every = {**bounds, **columns, "late_events": 0, "published_batch": EPOCH + _BATCHES}
    existing = {name: value for name, value in every.items() if name in spec.schema.names}
    return rows_of(spec.schema, len(starts), existing)


def _shape(report: Report, users: int) -> tuple[int, int]:
    """Returns the length of a report's windows in ms, and the rows of each."""
    size: int = getattr(report.windows, "size_ms")  # noqa: B009 - grids and calendars have it
    of_users = users * (_PER_USER["days"] if size == _DAY_MS else 1)
    return size, {"user_id": of_users, "page_url": _PAGES, "referring_host": _HOSTS}.get("".join(report.keys), 1)


def _texts(key: str, numbers: Any) -> pa.Array:
    form = {"user_id": "u{}", "page_url": "/p/{}", "referring_host": "h{}.example"}[key]
    distinct, indices = np.unique(numbers, return_inverse=True)
    return pa.array([form.format(number) for number in distinct]).take(pa.array(indices))


@cache
def _sketch(users: int) -> bytes:
    return sketch_of(f"u{number}" for number in range(min(users, 1000)))


def _panes(report: Report, users: int) -> pa.Table:
    """Returns panes of the open hour, in a batch."""
    number = np.arange({"user_id": users, "page_url": _PAGES, "referring_host": _HOSTS}.get("".join(report.keys), 1))
    start = END_MS - END_MS % _HOUR_MS
    keys = {report.stored(key): _texts(key, number) for key in report.keys}
    fixed = {"report": report.name, "pane_start": start, "batch": EPOCH + _BATCHES, "page_views": 1, "clicks": 0}
    times = {"first_time": start, "last_time": start + 60_000, "late_events": 0, "watermark": 0, "closed_until": 0}
    return rows_of(PANES.schema, len(number), {**fixed, **times, **keys})
