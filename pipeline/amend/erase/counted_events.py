"""Counts the events of a user in a report, each once: in published rows, and in panes that are not published yet."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.policy import Consumer
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.event_time.windows.count import Counts
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.tables.query import Row

Window = tuple[int, int]
"""Start and end in milliseconds."""


def counts_all_once(consumer: Consumer) -> bool:
    """Returns whether rows count all events, and no event is in two rows."""
    if isinstance(consumer, UserTotals):
        return True
    all_events = {c.PAGE_VIEWS, c.CLICKS} <= {*consumer.measures} and not consumer.where
    return all_events and not consumer.windows.has_overlap


def count_events(consumer: Consumer, rows: Sequence[Row], panes: Sequence[Row], published: int) -> int:
    """Returns the number of events in a user's rows and panes; `published` is the last batch that was published."""
    if isinstance(consumer, UserTotals):
        return _sum(panes)
    if isinstance(consumer.windows, Counts):
        return _sum(rows) + _sum(_not_in_rows(consumer, consumer.windows.size, rows, panes))
    windows = {(row[c.WINDOW_START_MS], row[c.WINDOW_END_MS]) for row in rows}
    return _sum(rows) + _sum(_waiting(consumer, windows, panes, published))


def _not_in_rows(report: Report, size: int, published: Sequence[Row], panes: Sequence[Row]) -> list[Row]:
    """Returns panes of count windows, `size` events each, that are in no published row.

    The published batch is not enough: after an earlier pass the remaining events may fill other windows than those in
    which they were published.
    """
    rows = Counter(
        (*_keys(report, row), row[c.WINDOW_START_MS], row[c.WINDOW_END_MS], row[c.PUBLISHED_BATCH]) for row in published
    )
    by_keys = defaultdict[tuple[Any, ...], list[Row]](list)
    for row in sorted(panes, key=lambda row: (row[c.BATCH], row[c.RECORD_POSITION])):
        by_keys[_keys(report, row)].append(row)
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


def _keys(report: Report, row: Row) -> tuple[Any, ...]:
    return tuple(row[key] for key in report.keys)


def _bounds(events: Sequence[Row]) -> Window:
    return min(row[c.FIRST_TIME] for row in events), max(row[c.LAST_TIME] for row in events) + 1


def _waiting(report: Report, windows: set[Window], panes: Sequence[Row], published: int) -> list[Row]:
    return [row for row in panes if row[c.BATCH] > published or not _is_published(report, row, windows)]


def _is_published(report: Report, row: Row, windows: set[Window]) -> bool:
    if isinstance(report.windows, Sessions):
        end = row[c.LAST_TIME] + report.windows.gap_ms
        return any(start <= row[c.FIRST_TIME] and end <= until for start, until in windows)
    if row[c.WINDOW_START_MS] is not None:
        return (row[c.WINDOW_START_MS], row[c.WINDOW_END_MS]) in windows
    return next(report.windows.of(row[c.PANE_START])) in windows


def _sum(rows: Sequence[Row]) -> int:
    return sum(row[c.PAGE_VIEWS] + row[c.CLICKS] for row in rows)
