"""Which class has the table part of a kind of windows."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from pipeline.tables.kinds.base import ResultKind, WindowKind
from pipeline.tables.kinds.count import CountKind
from pipeline.tables.kinds.periodic import CalendarKind, GridKind
from pipeline.tables.kinds.session import SessionKind
from pipeline.tables.kinds.user_totals import UserTotalsKind
from pipeline.time.report import Report
from pipeline.time.verdicts import Policy
from pipeline.time.windows.base import Windows
from pipeline.time.windows.calendar import Calendar
from pipeline.time.windows.count import Counts
from pipeline.time.windows.grid import Grid
from pipeline.time.windows.session import Sessions

_KINDS: Final[Mapping[type[Windows], Callable[[Report, Any], WindowKind]]] = {
    Calendar: CalendarKind,
    Counts: CountKind,
    Grid: GridKind,
    Sessions: SessionKind,
}


def kind_of(report: Report) -> WindowKind:
    """The table part of a report's windows."""
    return _KINDS[type(report.windows)](report, report.windows)


def kinds_of(warehouse: str, policy: Policy) -> list[ResultKind]:
    """That of everything that panes are kept for."""
    totals = [UserTotalsKind(warehouse, policy.totals)] if policy.totals else []
    return [*map(kind_of, policy.reports), *totals]
