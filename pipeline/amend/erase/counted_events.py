"""How many counted events of a person a report has, each once: those in rows, and those that wait in panes."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from pipeline import columns as c
from pipeline.event_time.policy import Consumer
from pipeline.event_time.reports import Report
from pipeline.event_time.user_totals import UserTotals
from pipeline.event_time.windows.count import Counts
from pipeline.event_time.windows.session import Sessions
from pipeline.tables.query import Row

Window = tuple[int, int]
"""Start and end in milliseconds."""


def has_one_place(consumer: Consumer) -> bool:
    """Whether each event is in one row at most, which tells of all its events."""
    if isinstance(consumer, UserTotals):
        return True
    all_events = {c.PAGE_VIEWS, c.CLICKS} <= {*consumer.measures} and not consumer.where
    return all_events and not consumer.windows.has_overlap


def events_of(consumer: Consumer, shown: Sequence[Row], panes: Sequence[Row], published: int) -> int:
    """Those of a person's rows and panes; the table is published up to a batch."""
    if isinstance(consumer, UserTotals):
        return _sum(panes)  # a user's panes never go
    if isinstance(consumer.windows, Counts):
        return _sum(shown) + _sum(_not_in_rows(consumer, consumer.windows.size, shown, panes))
    windows = {(row[c.WINDOW_START_MS], row[c.WINDOW_END_MS]) for row in shown}
    return _sum(shown) + _sum(_waiting(consumer, windows, panes, published))


def _not_in_rows(report: Report, size: int, shown: Sequence[Row], panes: Sequence[Row]) -> list[Row]:
    """Panes of count windows, `size` events each, that no shown row is made of.

    How far the table is published does not say it: after an earlier pass events may fill a window by themselves that
    were published in windows together with events that are gone.
    """
    rows = Counter(
        (*_keys(report, row), row[c.WINDOW_START_MS], row[c.WINDOW_END_MS], row[c.PUBLISHED_BATCH]) for row in shown
    )
    by_keys = defaultdict[tuple[Any, ...], list[Row]](list)
    for row in sorted(panes, key=lambda row: (row[c.BATCH], row[c.RECORD_POSITION])):
        by_keys[_keys(report, row)].append(row)
    left = list[Row]()
    for keys, events in by_keys.items():
        for start in range(0, len(events), size):
            window = events[start : start + size]
            made = (*keys, *_bounds(window), window[-1][c.BATCH])
            if len(window) == size and rows[made]:
                rows[made] -= 1
            else:
                left += window
    return left


def _keys(report: Report, row: Row) -> tuple[Any, ...]:
    return tuple(row[key] for key in report.keys)


def _bounds(events: Sequence[Row]) -> Window:
    return min(row[c.FIRST_TIME] for row in events), max(row[c.LAST_TIME] for row in events) + 1


def _waiting(report: Report, shown: set[Window], panes: Sequence[Row], published: int) -> list[Row]:
    return [row for row in panes if row[c.BATCH] > published or not _is_shown(report, row, shown)]


def _is_shown(report: Report, row: Row, shown: set[Window]) -> bool:
    if isinstance(report.windows, Sessions):
        end = row[c.LAST_TIME] + report.windows.gap_ms
        return any(start <= row[c.FIRST_TIME] and end <= until for start, until in shown)
    if row[c.WINDOW_START_MS] is not None:
        return (row[c.WINDOW_START_MS], row[c.WINDOW_END_MS]) in shown
    return next(report.windows.of(row[c.PANE_START])) in shown


def _sum(rows: Sequence[Row]) -> int:
    return sum(row[c.PAGE_VIEWS] + row[c.CLICKS] for row in rows)
