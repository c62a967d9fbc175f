"""The days of a page, newest first: views, clicks, visitors, and the visits that entered by it and left from it."""

from dataclasses import dataclass
from typing import Final

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.periodic import DAY_MS
from tidemark.pipeline.instants import ms_of
from tidemark.pipeline.reading.periods.period_sources import ENTRY_PAGE, EXIT_PAGE, Sources, Visits
from tidemark.pipeline.reading.table_reader import CurrentTables, text_sql, time_sql
from tidemark.pipeline.tables.query import Row
from tidemark.pipeline.web.dashboard.reader_times import STATES

_MOST: Final = 31


@dataclass(frozen=True, slots=True)
class PageDay:
    """A day on which the page had an event; times in milliseconds."""

    start: int
    end: int
    state: str
    page_views: int
    clicks: int
    visitors: int | None
    """About; None if the report has no number of users."""
    entries: int | None
    exits: int | None
    """Visits that began on the day; None if they are unknown, or some of them are still going."""


@dataclass(frozen=True, slots=True)
class PageDays:
    """Days of a page, newest first."""

    rows: list[PageDay]
    earlier: int | None
    """Days that end at or before this time (ms) are on the next page; None without one."""
    since: int
    """Days that started before this time (ms) are partial."""


def days_of(tables: CurrentTables, sources: Sources, page: str, until: int | None) -> PageDays | None:
    """Returns the newest days of a page that have fired and end at or before `until` (ms).

    None without a report by page and day. Days without an event of the page have no row, so the next that exists
    follows.
    """
    levels = [level for level in sources.pages if _is_by_day(level.report)]
    if not levels:
        return None
    report, known = levels[0].report, sources.known_since(levels[0].report.name)
    users = [c.UNIQUE_USERS] if c.UNIQUE_USERS in report.measures else []
    rows = tables.live(
        report,
        ", ".join([c.WINDOW_START, c.WINDOW_END, "state", "page_views", "clicks", *users]),
        f"AND state <> 'open' ORDER BY {c.WINDOW_END} DESC LIMIT {_MOST + 1}",
        (None, until),
        {c.PAGE_URL: page},
    )
    listed = rows[:_MOST]
    sides = _entries_and_exits(tables, sources.visits, page, listed)
    days = [_day(row, known, *sides.get(ms_of(row[c.WINDOW_START]), (None, None))) for row in listed]
    return PageDays(days, days[-1].start if len(rows) > _MOST else None, known)


def _is_by_day(report: Report) -> bool:
    return isinstance(report.windows, Calendar) and report.windows.size_ms == DAY_MS


def _day(row: Row, known: int, entries: int | None, exits: int | None) -> PageDay:
    start = ms_of(row[c.WINDOW_START])
    return PageDay(
        start=start,
        end=ms_of(row[c.WINDOW_END]),
        state=STATES[row["state"]] if start >= known else "partial",
        page_views=row["page_views"],
        clicks=row["clicks"],
        visitors=row.get(c.UNIQUE_USERS),
        entries=entries,
        exits=exits,
    )


def _entries_and_exits(
    tables: CurrentTables, visits: Visits | None, page: str, days: list[Row]
) -> dict[int, tuple[int, int | None]]:
    """Returns the visits that began on each day, by its start (ms), and entered by the page, and left from it."""
    if visits is None or not {ENTRY_PAGE, EXIT_PAGE} <= {*visits.texts} or not days:
        return {}
    bounds = [(ms_of(row[c.WINDOW_START]), ms_of(row[c.WINDOW_END])) for row in days]
    known = [(start, end) for start, end in bounds if start >= visits.progress.since and end <= visits.progress.until]
    if not known:
        return {}
    is_page = {name: f"{name} = {text_sql(page)}" for name in (ENTRY_PAGE, EXIT_PAGE)}
    sums = list[str]()
    for start, end in known:
        began = f"{c.WINDOW_START} >= {time_sql(start)} AND {c.WINDOW_START} < {time_sql(end)}"
        sums += [
            f"sum(CASE WHEN {began} AND {is_page[ENTRY_PAGE]} THEN 1 ELSE 0 END) AS entries_{start}",
            f"sum(CASE WHEN {began} AND state <> 'open' AND {is_page[EXIT_PAGE]} THEN 1 ELSE 0 END) AS exits_{start}",
            f"sum(CASE WHEN {began} AND state = 'open' THEN 1 ELSE 0 END) AS going_{start}",
        ]
    first, last = min(start for start, _ in known), max(end for _, end in known)
    began = f"AND {c.WINDOW_START} >= {time_sql(first)} AND {c.WINDOW_START} < {time_sql(last)}"
    (row,) = tables.live(visits.report, ", ".join(sums), began, (first, None), {}, visits.progress.batch)
    return {
        start: (row[f"entries_{start}"] or 0, None if row[f"going_{start}"] else row[f"exits_{start}"] or 0)
        for start, _ in known
    }
