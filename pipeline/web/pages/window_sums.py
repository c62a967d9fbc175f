"""Reads windows of a report: sums over its keys, and single rows."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.dimensions import Type
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.base import Windows
from tidemark.pipeline.instants import ms_of
from tidemark.pipeline.reading.table_reader import CurrentTables, KeyValues, Span
from tidemark.pipeline.tables.dictionary import STATE
from tidemark.pipeline.tables.schemas import result_of
from tidemark.pipeline.web.pages.paging import Slice, page_of

_WINDOWS: Final = 24
"""Number of windows on a page."""
ROWS: Final = 50
_FIRST_SPAN_MS: Final = 3_600_000
_SPAN_FACTOR: Final = 8
_SEARCH_S: Final = 0.15
"""A search for rare rows ends after this time, and reports how far it got."""


@dataclass(frozen=True, slots=True)
class ReportWindow:
    """A window `[start, end)` with the sums over its rows; times in milliseconds."""

    start: int
    end: int
    state: str
    """open, fired, closed or corrected."""
    rows: int
    late_events: int
    published_batch: int
    sums: dict[str, int | Decimal]
    """Sums by measure."""


def windows_of(tables: CurrentTables, report: Report, until: int | None = None) -> list[ReportWindow]:
    """Returns the newest windows that end by `until` (ms), oldest first; empty for sessions and counts."""
    if not report.windows.ends_are_known:
        return []
    ends = tables.ends(report)
    last = until if until is not None else ends and ends[1]
    since = None if last is None else end_before(report.windows, last, _WINDOWS)
    return windows_in(tables, report, (since, until), _WINDOWS)


def windows_in(tables: CurrentTables, report: Report, span: Span, most: int | None = None) -> list[ReportWindow]:
    """Returns the windows in a span, oldest first; at most the newest `most`."""
    sums = [f"{sum_sql(report, name)} AS {name}" for name in (c.LATE_EVENTS, *sums_of(report))]
    # The state of a window is the highest of its rows: some rows may be corrected, others closed.
    highest = [f"max({name}) AS {name}" for name in (STATE, c.PUBLISHED_BATCH)]
    rows = tables.live(
        report,
        ", ".join([c.WINDOW_START, c.WINDOW_END, "count(*) AS rows", *highest, *sums]),
        f"GROUP BY 1, 2 ORDER BY 2 DESC, 1 DESC {'' if most is None else f'LIMIT {most}'}",
        span,
        {},
    )
    return [
        ReportWindow(
            start=ms_of(row[c.WINDOW_START]),
            end=ms_of(row[c.WINDOW_END]),
            state=row[STATE],
            rows=row["rows"],
            late_events=row[c.LATE_EVENTS] or 0,
            published_batch=row[c.PUBLISHED_BATCH],
            sums={name: row[name] for name in sums_of(report) if row[name] is not None},
        )
        for row in reversed(rows)
    ]


def rows_of_report(
    tables: CurrentTables, report: Report, only: KeyValues, until: int | None, skip: int, measure: str = ""
) -> Slice:
    """Returns a slice of the rows of windows that end by `until` (ms), newest first, without the first `skip`.

    Rows of a window are in descending order of `measure`, then of the other sums: a measure that is 0 in all rows does
    not order them.
    """
    names = [name for name in result_of(report).schema.names if name not in report.hidden]
    select, keys = ", ".join([*names, STATE]), "".join(f", {key}" for key in report.keys)
    rest = (
        f"ORDER BY {c.WINDOW_END} DESC, {c.WINDOW_START} DESC, {largest_first(report, measure)}{keys} "
        f"LIMIT {ROWS + 1} OFFSET {skip}"
    )
    first, last = tables.ends(report) or (0, 0)
    last = last if until is None else until
    # A window has one row per value of its only key.
    windows = ROWS + 1 if only.keys() == {*report.keys} else _WINDOWS
    span_ms = _FIRST_SPAN_MS
    if report.windows.ends_are_known:
        span_ms = last - end_before(report.windows, last, windows)
    started = time.monotonic()
    # Frequent keys fill a page from a short span; a long span at once would read every file of the table.
    while True:
        since = last - span_ms if last - span_ms >= first else None
        rows = tables.live(report, select, rest, (since, until), only)
        if len(rows) > ROWS or since is None or time.monotonic() - started > _SEARCH_S:
            break
        span_ms *= _SPAN_FACTOR
    rows = [row | {key: Type.text_of(row[key]) for key in report.types} for row in rows]
    return page_of(rows, ROWS, lambda row: ms_of(row[c.WINDOW_END]), until, skip, since)


def sums_of(report: Report) -> list[str]:
    """Returns the names of measures that pages sum over all rows of a window."""
    return [measure.name for measure in report.window_sums if not measure.sql]


def sum_sql(report: Report, name: str) -> str:
    """Returns SQL of the sum of a column over rows, which has the digits of its measure."""
    digits = sum(measure.digits for measure in report.chosen_measures if measure.name == name)
    return f"CAST(sum({name}) AS {f'DECIMAL(38, {digits})' if digits else 'BIGINT'})"


def drawn_measure(windows: Sequence[ReportWindow], chosen: str = "") -> str:
    """Returns the measure to draw: `chosen`, or the first that any window counted; empty without measures."""
    names = list(dict.fromkeys(name for window in windows for name in window.sums))
    counted = (name for name in names if any(window.sums.get(name) for window in windows))
    return chosen if chosen in names else next(counted, names[0] if names else "")


def largest_first(report: Report, measure: str = "") -> str:
    """Returns the SQL order by `measure`, then by the other sums of a report."""
    names = dict.fromkeys([*([measure] if measure else []), *report.sums]) or [c.LATE_EVENTS]
    return ", ".join(f"{name} DESC NULLS LAST" for name in names)


def earlier_than(tables: CurrentTables, windows: Sequence[ReportWindow], report: Report) -> int | None:
    """Returns the end (ms) of the window before the first of `windows`; None if no published window ends before it."""
    ends = tables.ends(report)
    has_earlier = bool(windows) and ends is not None and ends[0] < windows[0].end
    return end_before(report.windows, windows[0].end, 1) if has_earlier and report.windows.ends_are_known else None


def end_before(windows: Windows, end: int, count: int) -> int:
    """Returns the end of the window that is `count` windows before the window that ends at `end` (ms).

    The ends of `windows` are known.
    """
    for _ in range(count):
        end = windows.reached(end - 1)
    return end
