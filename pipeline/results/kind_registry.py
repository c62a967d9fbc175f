"""The result kind of each kind of windows."""

from collections.abc import Mapping
from typing import Any, Final

from pipeline.event_time.policy import Policy
from pipeline.event_time.reports import Report
from pipeline.event_time.windows.base import Windows
from pipeline.event_time.windows.calendar import Calendar
from pipeline.event_time.windows.count import Counts
from pipeline.event_time.windows.cumulate import Cumulate
from pipeline.event_time.windows.grid import Grid
from pipeline.event_time.windows.session import Sessions
from pipeline.results.count_kind import CountKind
from pipeline.results.periodic_kind import AlignedKind, CalendarKind
from pipeline.results.result_kind import ResultKind, WindowKind
from pipeline.results.session_kind import SessionKind
from pipeline.results.user_totals_kind import UserTotalsKind
from pipeline.tables.large import NOTHING, LargeJobs
from pipeline.tuning import STANDARD, Tuning

_KINDS: Final[Mapping[type[Windows], type[WindowKind[Any]]]] = {
    Calendar: CalendarKind,
    Counts: CountKind,
    Cumulate: AlignedKind,
    Grid: AlignedKind,
    Sessions: SessionKind,
}


def kind_of(report: Report, large: LargeJobs = NOTHING, tuning: Tuning = STANDARD) -> WindowKind[Any]:
    """Returns the result kind of a report."""
    return _KINDS[type(report.windows)](report, large, tuning)


def kinds_of(
    warehouse: str, policy: Policy, large: LargeJobs = NOTHING, tuning: Tuning = STANDARD
) -> list[ResultKind[Any]]:
    """Returns the result kinds of all readers of panes."""
    totals = [UserTotalsKind(warehouse, policy.totals, tuning)] if policy.totals else []
    return [*(kind_of(report, large, tuning) for report in policy.reports), *totals]
