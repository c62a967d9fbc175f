"""Lateness: when a window fires, when it closes, and which events are too late for it. No other module decides this.

A window fires when the watermark reaches its end, and closes when the watermark reaches its end plus the allowed
lateness. An event is too late for windows that had closed before its batch began. Closed windows stay closed, whatever
lateness is allowed later. All times are milliseconds since 1970.

The comparisons work for everything that can be compared: integers, columns of Arrow or Spark, and `Sql`.
Source: Flink, "Windows" (allowed lateness), with firing at `watermark >= end`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.event_time.windows.base import Terms


@dataclass(frozen=True, slots=True)
class Sql:
    """An SQL expression to which a rule can be applied: comparing two of them returns the SQL of the comparison."""

    text: str

    def __str__(self) -> str:
        return self.text

    def __add__(self, milliseconds: int) -> "Sql":
        return Sql(f"{self} + {milliseconds}")

    def __le__(self, other: "Sql") -> "Sql":
        return Sql(f"{self} <= {other}")

    def __invert__(self) -> "Sql":
        return Sql(f"NOT ({self})")


def has_fired(end: Any, watermark: Any) -> Any:
    """Returns whether a window that ends at `end` has fired at a watermark."""
    return end <= watermark


def is_closed(end: Any, closed_until: Any) -> Any:
    """Returns whether a window that ends at `end` accepts no further events."""
    return end <= closed_until


def is_too_late(time: Any, in_time_from: Any) -> Any:
    """Returns whether an event is older than the oldest events that are in time."""
    return time < in_time_from


def closed_until(report: Terms | UserTotals, watermark: int | None) -> int:
    """Returns the time in milliseconds: windows of the report that end at or before it are closed."""
    return max(rules.as_number(watermark) - report.allowed_lateness_ms, report.closed_before_ms)


def closed_until_sql(report: Report | UserTotals, watermark: str) -> Sql:
    """Returns `closed_until` as SQL. `watermark` is a column that is never null."""
    return Sql(f"greatest({watermark} - {report.allowed_lateness_ms}, {report.closed_before_ms})")


def in_time_from(report: Report | UserTotals, watermark: int | None) -> int:
    """Returns the time in milliseconds before which events are too late: each window they belong to has closed."""
    return report.earliest_after(closed_until(report, watermark))


def too_late_at(reports: Iterable[Report], time: int) -> int:
    """Returns the watermark that makes an event with this time too late for all reports: its last window closes."""
    return max(report.windows.latest_end(time) + report.allowed_lateness_ms for report in reports)


def late_at(reports: Iterable[Report], time: int) -> int:
    """Returns the watermark that makes an event with this time late for a report: its first window closes.

    Count windows are left out, because no event is too late for them.
    """
    by_time = [report for report in reports if report.windows.by_time]
    ends = (min(window.end for window in report.windows.of(time)) + report.allowed_lateness_ms for report in by_time)
    return min(ends, default=rules.NEVER)


def waits_from(reports: Iterable[Report], watermark: int | None) -> int:
    """Returns the time in milliseconds from which an event may be too late although its window is not final.

    Each window that an older event missed is final, and no event in time can change it. Count windows are left out,
    because no event is too late for them: with count windows only the result is `rules.NEVER`.
    """
    by_time = [report for report in reports if report.windows.by_time]
    waits = (in_time_from(report, watermark) - (report.windows.event_ms or 0) for report in by_time)
    return min(waits, default=rules.NEVER)


class Cutoffs(NamedTuple):
    """Events before `too_late` are too late for every window of every report, those before `partly_late` for some."""

    too_late: int
    partly_late: int


def cutoffs(reports: Collection[Report], watermark: int | None) -> Cutoffs:
    """Returns the times, in milliseconds, from which events are not too late, and not partly late.

    With count windows among the reports `too_late` is `rules.NO_WATERMARK`, because every event counts in them.

    >>> from tidemark.pipeline.event_time.windows.grid import Grid
    >>> hours_and_minutes = [Report("hours", Grid(3_600_000, 3_600_000), 0), Report("minutes", Grid(60_000, 60_000), 0)]
    >>> cutoffs(hours_and_minutes, watermark=5_400_000)  # 01:30: only the hour from 01:00 is open
    Cutoffs(too_late=3600000, partly_late=5400000)
    """
    return Cutoffs(
        min(in_time_from(report, watermark) for report in reports),
        max(report.windows.whole_after(closed_until(report, watermark)) for report in reports),
    )


def may_be_partly_late(reports: Collection[Report]) -> bool:
    """Returns whether an event can be too late for some of its windows, and count in others."""
    terms = {(report.windows, report.allowed_lateness_ms, report.closed_before_ms) for report in reports}
    return len(terms) > 1 or any(report.windows.has_overlap for report in reports)


class FinalTimes(NamedTuple):
    """Events before `too_late` are too late everywhere. `closed` is by report the last end that is closed."""

    too_late: int
    closed: dict[str, int]


def finals(reports: Collection[Report], certain: int | None) -> FinalTimes:
    """Returns what is final by `certain`, a watermark that no reset lowers, in milliseconds.

    Unlike `closed_until`, this ignores what earlier settings had closed.
    """
    reached = rules.as_number(certain)
    ends = {report.name: min(reached, closed_until(report, certain)) for report in reports}
    return FinalTimes(min(report.earliest_after(reached - report.allowed_lateness_ms) for report in reports), ends)
