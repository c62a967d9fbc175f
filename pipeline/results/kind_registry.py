"""The result kind of each kind of windows."""

from typing import Any, assert_never

from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.count import Counts, SlidingCounts
from tidemark.pipeline.event_time.windows.cumulate import Cumulate
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.kinds import AnyWindows
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.results.count_kind import CountKind
from tidemark.pipeline.results.periodic_kind import AlignedKind, CalendarKind
from tidemark.pipeline.results.result_kind import ResultKind, WindowKind
from tidemark.pipeline.results.session_kind import SessionKind
from tidemark.pipeline.results.sliding_count_kind import SlidingCountKind
from tidemark.pipeline.results.user_totals_kind import UserTotalsKind
from tidemark.pipeline.tables.large import NOTHING, LargeJobs
from tidemark.pipeline.tuning import STANDARD, Tuning


def kind_of(report: Report, large: LargeJobs = NOTHING, tuning: Tuning = STANDARD) -> WindowKind[Any]:
    """Returns the result kind of a report."""
    return _class_of(report.windows)(report, large, tuning)


def kinds_of(
    warehouse: str, policy: Policy, large: LargeJobs = NOTHING, tuning: Tuning = STANDARD
) -> list[ResultKind[Any]]:
    """Returns the result kinds of all readers of panes."""
    totals = [UserTotalsKind(warehouse, policy.totals, tuning)] if policy.totals else []
    return [*(kind_of(report, large, tuning) for report in policy.reports), *totals]


def _class_of(windows: AnyWindows) -> type[WindowKind[Any]]:
    match windows:
        case Calendar():
            return CalendarKind
        case Counts():
            return CountKind
        case Cumulate() | Grid():
            return AlignedKind
        case Sessions():
            return SessionKind
        case SlidingCounts():
            return SlidingCountKind
        case _:
            assert_never(windows)
