"""The visits of a user, newest first, with the time between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tidemark.pipeline import columns as c
from tidemark.pipeline.instants import ms_of
from tidemark.pipeline.reading.periods.period_sources import ENTRY_PAGE, EXIT_PAGE, Sources, Visits
from tidemark.pipeline.reading.table_reader import CurrentTables
from tidemark.pipeline.tables.query import Row
from tidemark.pipeline.web.dashboard.reader_times import STATES

_MOST: Final = 50


@dataclass(frozen=True, slots=True)
class UserVisit:
    """A visit; times in milliseconds."""

    start: int
    last: int
    """The time of its last event."""
    state: str
    page_views: int
    clicks: int
    entry_page: str | None
    exit_page: str | None
    """The latest page of a visit that is still going."""
    texts: dict[str, str | None]
    """Further texts, such as the referring host."""
    before_ms: int | None
    """Time from the last event of the visit before; None if there is no such visit."""


@dataclass(frozen=True, slots=True)
class UserVisits:
    """Visits of a user, newest first."""

    rows: list[UserVisit]
    earlier: int | None
    """Visits that end at or before this time (ms) are on the next page; None without one."""
    gap_ms: int
    """A visit ends after this time without an event."""
    since: int
    """Visits that began before this time (ms) may not be known whole: then they are partial."""


def visits_of(tables: CurrentTables, sources: Sources, user: str, until: int | None) -> UserVisits | None:
    """Returns the newest visits of a user that end at or before `until` (ms); None without a report of visits.

    The whole table is searched, however long ago the visits are.
    """
    visits = sources.visits
    if visits is None:
        return None
    pages = [name for name in (ENTRY_PAGE, EXIT_PAGE) if name in visits.texts]
    names = [c.WINDOW_START, c.WINDOW_END, "state", *("page_views", "clicks", c.DURATION_MS), *visits.texts]
    rows = tables.live(
        visits.report,
        ", ".join(names),
        f"ORDER BY {c.WINDOW_START} DESC LIMIT {_MOST + 1}",
        (None, until),
        {c.USER_ID: user},
        visits.progress.batch,
    )
    listed = [_visit(row, before, visits, pages) for row, before in zip(rows, [*rows[1:], None], strict=False)][:_MOST]
    return UserVisits(listed, listed[-1].start if len(rows) > _MOST else None, visits.gap_ms, visits.progress.since)


def _visit(row: Row, before: Row | None, visits: Visits, pages: Sequence[str]) -> UserVisit:
    start = ms_of(row[c.WINDOW_START])
    is_whole = start >= visits.progress.since or row["state"] == "open"
    return UserVisit(
        start=start,
        last=_last(row, visits),
        state=STATES[row["state"]] if is_whole else "partial",
        page_views=row["page_views"],
        clicks=row["clicks"],
        entry_page=row[ENTRY_PAGE] if ENTRY_PAGE in pages else None,
        exit_page=row[EXIT_PAGE] if EXIT_PAGE in pages else None,
        texts={name: row[name] or None for name in visits.texts if name not in pages},
        before_ms=None if before is None else start - _last(before, visits),
    )


def _last(row: Row, visits: Visits) -> int:
    """Returns the time of the last event: a visit ends when the gap has passed since it."""
    return ms_of(row[c.WINDOW_END]) - visits.gap_ms
