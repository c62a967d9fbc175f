"""Lateness: which windows have fired, which have closed, and what is too late for them. It is written here only.

A window fires when the watermark comes to its end, and closes when the watermark comes to its end plus the allowed
lateness. An event is too late for the windows that had closed before its batch began. What was closed stays closed,
whatever is allowed later. All times are milliseconds since the epoch.

The comparisons hold of whatever can be compared: integers, columns of Arrow or Spark, and `Sql`.
Source: Flink, "Windows" (allowed lateness), with firing at `watermark >= end`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from pipeline.event_time import rules
from pipeline.event_time.reports import Report
from pipeline.event_time.user_totals import UserTotals
from pipeline.event_time.windows.base import Terms


@dataclass(frozen=True, slots=True)
class Sql:
    """An expression of SQL, so that a rule can be applied to it."""

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
    """Whether a window with this end fires at a watermark, or fired before."""
    return end <= watermark


def is_closed(end: Any, closed_until: Any) -> Any:
    """Whether a window with this end takes no event any more."""
    return end <= closed_until


def is_too_late(time: Any, in_time_from: Any) -> Any:
    """Whether an event comes before the time from which on events are in time."""
    return time < in_time_from


def closed_until(report: Terms | UserTotals, watermark: int | None) -> int:
    """The end up to which a report's windows are closed at a watermark."""
    return max(rules.as_number(watermark) - report.allowed_lateness_ms, report.closed_before_ms)


def closed_until_sql(report: Report | UserTotals, watermark: str) -> Sql:
    """The same, of a column that is never null."""
    return Sql(f"greatest({watermark} - {report.allowed_lateness_ms}, {report.closed_before_ms})")


def in_time_from(report: Report | UserTotals, watermark: int | None) -> int:
    """Events before this time are too late for a report: every window that they would belong to has closed."""
    return report.earliest_after(closed_until(report, watermark))


def too_late_at(reports: Iterable[Report], time: int) -> int:
    """The watermark at which an event becomes too late for all reports: it closes the last window of the event."""
    return max(report.windows.latest_end(time) + report.allowed_lateness_ms for report in reports)


def waits_from(reports: Iterable[Report], watermark: int | None) -> int:
    """Returns the time in milliseconds from which on an event may be too late, and its window not final yet.

    Every window that an earlier event missed is final, and no event in time can meet it. For count windows nothing is
    too late, so they have no part in it: without windows of time the result is `rules.NEVER`.
    """
    by_time = [report for report in reports if report.windows.by_time]
    waits = (in_time_from(report, watermark) - (report.windows.event_ms or 0) for report in by_time)
    return min(waits, default=rules.NEVER)


def cutoffs(reports: Collection[Report], watermark: int | None) -> tuple[int, int]:
    """Events before the first are too late for every window of every report, those before the second for some.

    Count windows take events of every time. With one among the reports the first is `rules.NO_WATERMARK`: every event
    counts somewhere, in the totals of its user, too.
    """
    return (
        min(in_time_from(report, watermark) for report in reports),
        max(report.windows.whole_after(closed_until(report, watermark)) for report in reports),
    )


def finals(reports: Collection[Report], trusted: int | None) -> tuple[int, dict[str, int]]:
    """Returns what is final by a watermark that no reset takes back, in milliseconds, whatever was closed before.

    Events before the first time are too late everywhere; windows of a report, by name, that end no later have closed.
    """
    reached = rules.as_number(trusted)
    ends = {report.name: min(reached, closed_until(report, trusted)) for report in reports}
    return min(report.earliest_after(reached - report.allowed_lateness_ms) for report in reports), ends
