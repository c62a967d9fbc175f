"""Counts the events of a user in a report, each once: in published rows, and in panes that are not published yet."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, assert_never

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.policy import Consumer
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.event_time.windows.count import Counts, SlidingCounts
from tidemark.pipeline.event_time.windows.periodic import Periodic
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.tables.query import Row

Window = tuple[int, int]
"""Start and end in milliseconds."""


def counts_all_once(consumer: Consumer, *, has_other_kinds: bool) -> bool:
    """Returns whether each event, of whatever kind, is counted in one row, or panes keep every event.

    `has_other_kinds`: events of other kinds than visits and clicks may have been counted.
    """
    if isinstance(consumer, UserTotals):
        return True
    names = {*consumer.measures}
    all_events = c.EVENTS in names or ({c.PAGE_VIEWS, c.CLICKS} <= names and not has_other_kinds)
    is_in_one = not consumer.windows.has_overlap or consumer.windows.keeps_events
    return all_events and not consumer.where and is_in_one


def count_events(consumer: Consumer, rows: Sequence[Row], panes: Sequence[Row], published: int) -> int:
    """Returns the number of events in a user's rows and panes; `published` is the last batch that was published."""
    if isinstance(consumer, UserTotals):
        return _sum(panes)
    match consumer.windows:
        case SlidingCounts():
            return _sum(panes)
        case Counts(size):
            waiting = _not_in_rows(consumer, size, rows, panes)
        case Sessions() | Periodic() as windows:
            in_rows = {(row[c.WINDOW_START_MS], row[c.WINDOW_END_MS]) for row in rows}
            waiting = [row for row in panes if row[c.BATCH] > published or not _is_in(in_rows, row, windows)]
        case _:
            assert_never(consumer.windows)
    return _sum(rows) + _sum(waiting)


def _not_in_rows(report: Report, size: int, published: Sequence[Row], panes: Sequence[Row]) -> list[Row]:
    """Returns panes of count windows, `size` events each, that are in no published row.

    The published batch is not enough: after an earlier pass the remaining events may fill other windows than those in
    which they were published.
    """
    rows = Counter(
        (*(row[key] for key in report.keys), row[c.WINDOW_START_MS], row[c.WINDOW_END_MS], row[c.PUBLISHED_BATCH])
        for row in published
    )
    by_keys = defaultdict[tuple[Any, ...], list[Row]](list)
    for row in sorted(panes, key=lambda row: (row[c.BATCH], row[c.RECORD_POSITION])):
        by_keys[report.keys_of(row)].append(row)
    left = list[Row]()
    for keys, events in by_keys.items():
        for start in range(0, len(events), size):
            window = events[start : start + size]
            identity = (*keys, *_bounds(window), window[-1][c.BATCH])
            if len(window) == size and rows[identity]:
                rows[identity] -= 1
            else:
                left += window
    return left


def _bounds(events: Sequence[Row]) -> Window:
    return min(row[c.FIRST_TIME] for row in events), max(row[c.LAST_TIME] for row in events) + 1


def _is_in(published: set[Window], pane: Row, windows: Sessions | Periodic) -> bool:
    """Returns whether one of the published windows contains the events of a row of panes."""
    if isinstance(windows, Sessions):
        end = pane[c.LAST_TIME] + windows.gap_ms
        return any(start <= pane[c.FIRST_TIME] and end <= until for start, until in published)
    if windows.panes_store_bounds:
        return (pane[c.WINDOW_START_MS], pane[c.WINDOW_END_MS]) in published
    return next(windows.of(pane[c.PANE_START])) in published


def _sum(rows: Sequence[Row]) -> int:
    """Returns the number of events; without the column, and in older panes, all are visits and clicks."""
    return sum(row[c.PAGE_VIEWS] + row[c.CLICKS] if (count := row.get(c.EVENTS)) is None else count for row in rows)
