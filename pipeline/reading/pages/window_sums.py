"""The windows of a report: added up over its keys, by what they changed since they fired, and their rows."""

import time
from dataclasses import dataclass
from typing import Final

from pipeline import columns as c
from pipeline.event_time.reports import Report
from pipeline.event_time.windows.periodic import Periodic
from pipeline.instants import ms_of
from pipeline.reading.pages.paging import Slice, page_of
from pipeline.reading.pages.table_reader import CurrentTables, KeyValues, Span
from pipeline.tables.dictionary import STATE
from pipeline.tables.schemas import result_of

_SHOWN: Final = 24
"""So many windows are shown at once."""
ROWS: Final = 50
_FIRST_LOOK_MS: Final = 3_600_000
_FURTHER: Final = 8
_LOOKS_S: Final = 0.15
"""Who looks for what is rare is told how far the look went after so long."""


@dataclass(frozen=True, slots=True)
class ReportWindow:
    """A window `[start, end)`, with what its rows add up to; times in milliseconds."""

    start: int
    end: int
    state: str
    """open, fired, closed or corrected."""
    rows: int
    late_events: int
    published_batch: int
    sums: dict[str, int]
    """By measure, those that add up."""


def windows_of(tables: CurrentTables, report: Report, until: int | None = None) -> list[ReportWindow]:
    """The newest windows of a report that end by a time, oldest first; of sessions and counts there are none."""
    if not isinstance(report.windows, Periodic):
        return []
    ends = tables.ends(report)
    last = until if until is not None else ends and ends[1]
    since = None if last is None else last - _SHOWN * window_step_ms(report.windows, last)
    return windows_in(tables, report, (since, until), _SHOWN)


def windows_in(tables: CurrentTables, report: Report, span: Span, most: int | None = None) -> list[ReportWindow]:
    """The windows of a report in a span, oldest first; by default all of them, else the newest."""
    sums = [f"CAST(sum({name}) AS BIGINT) AS {name}" for name in (c.LATE_EVENTS, *sums_of(report))]
    # Of the states of a window's rows the highest is that of the window: some may have been corrected, others closed.
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


def rows_of_report(tables: CurrentTables, report: Report, only: KeyValues, until: int | None, skip: int) -> Slice:
    """The newest rows of windows that end by a time, without so many first ones; their numbers are those ends."""
    states = {one.state for one in report.chosen_measures}
    shown = [name for name in result_of(report).schema.names if name not in states]
    select, keys = ", ".join([*shown, STATE]), "".join(f", {key}" for key in report.keys)
    rest = (
        f"ORDER BY {c.WINDOW_END} DESC, {c.WINDOW_START} DESC, {main_measure(report)} DESC{keys} "
        f"LIMIT {ROWS + 1} OFFSET {skip}"
    )
    first, last = tables.ends(report) or (0, 0)
    last = last if until is None else until
    # Of a value of its only key a window has one row.
    number = ROWS + 1 if only.keys() == {*report.keys} else _SHOWN
    back = number * window_step_ms(report.windows, last) if isinstance(report.windows, Periodic) else _FIRST_LOOK_MS
    begun = time.monotonic()
    while True:
        since = last - back if last - back >= first else None
        found = tables.live(report, select, rest, (since, until), only)
        if len(found) > ROWS or since is None or time.monotonic() - begun > _LOOKS_S:
            break
        back *= _FURTHER
    return page_of(found, ROWS, lambda row: ms_of(row[c.WINDOW_END]), until, skip, since)


def sums_of(report: Report) -> list[str]:
    """Returns the names of measures that pages sum over all rows of a window."""
    return [measure.name for measure in report.window_sums if not measure.sql]


def main_measure(report: Report) -> str:
    """The measure by which rows are compared."""
    return next(iter(report.sums), c.LATE_EVENTS)


def window_step_ms(windows: Periodic, end: int) -> int:
    """How far from the end of a window the next one ends, in milliseconds."""
    return windows.ends(windows.pane_start(end))[-1] - end
