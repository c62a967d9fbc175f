"""The series of a period by brute force from raw events."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final, NamedTuple

from tests.periods.oracle import Cover, Oracle, Value
from tests.periods.raw_case import HOUR
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.calendar import Calendar

MOST_WINDOWS: Final = 10_000
"""The visitors of bars are not counted in more windows, of which those before the first event are none."""
Counted = tuple[int | None, str]
"""A number, and its state."""


class PlainBar(NamedTuple):
    """The page views and visitors from `start` to `end`."""

    start: int
    end: int
    page_views: Counted
    visitors: Counted


def bars_of(oracle: Oracle, page: str) -> list[PlainBar]:
    """Returns the bars of the oracle's question."""
    reports = oracle.timed("page_url") if page else oracle.timed(any_keys=True)
    users = [] if page else oracle.timed("user_id")

    def page_views(cover: Cover) -> int:
        return sum(not event.is_click for event in oracle.events(cover, page))

    def visitors(cover: Cover) -> int:
        return len({event.user for event in oracle.events(cover, "")})

    bounds = [*_bounds(oracle)]
    covers = [cover for cover in (oracle.cover(*bar, users) for bar in bounds) if _is_known(oracle, cover)]
    if sum(len(cover.owners) for cover in covers) > MOST_WINDOWS:
        users = []
    return [
        PlainBar(*bar, _counted(oracle, bar, reports, page_views), _counted(oracle, bar, users, visitors))
        for bar in bounds
    ]


def _bounds(oracle: Oracle) -> Iterator[tuple[int, int]]:
    if oracle.days > 2:
        for day in range(oracle.days):
            first = oracle.first + timedelta(days=day)
            yield oracle.midnight(first), oracle.midnight(first + timedelta(days=1))
        return
    hours, start = Report("h", Calendar(HOUR, oracle.case.zone), 0), oracle.start
    while start < oracle.end:
        end = oracle.window(hours, start).end
        yield start, end
        start = end


def _counted(oracle: Oracle, span: tuple[int, int], reports: Sequence[Report], count: Value) -> Counted:
    cover = oracle.cover(*span, reports)
    if not _is_known(oracle, cover):
        return None, "unknown"
    state, begin = oracle.state(cover), oracle.covered_from(cover.start)
    return count(cover), "partial" if state in ("final", "complete") and begin > span[0] else state


def _is_known(oracle: Oracle, cover: Cover) -> bool:
    """Whether windows that are known reach beyond the first event."""
    return bool(cover.owners) and oracle.beginning is not None and cover.until > oracle.beginning
