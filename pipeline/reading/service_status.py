"""`tidemark status`: what the tables say, read without Spark. Cheap enough to be asked once a second."""

from collections.abc import Sequence
from typing import Final

from command_line.terminal import Console
from pipeline import columns as c
from pipeline.errors import SetUpError
from pipeline.event_time.reports import Report
from pipeline.instants import ms_of, now_ms
from pipeline.reading.latest_windows import latest_windows
from pipeline.reading.ledger_summary import read_summary
from pipeline.reading.status_view import Status, WindowStatus, render
from pipeline.tables.ledger import require_warehouse
from pipeline.tables.query import Row
from pipeline.tables.schemas import LEDGER, find_table

_USUAL: Final = "page_views"


def print_status(warehouse: str, report: str | None = None, console: Console | None = None) -> None:
    """Prints the status. Raises SetUpError where there is no warehouse, or no such report."""
    require_warehouse(warehouse)
    (console or Console()).print(render(read_status(warehouse, report), now_ms()))


def read_status(warehouse: str, report: str | None = None) -> Status:
    """The status as of the last commit, with the windows of a report; tables that do not exist yet count as empty.

    Raises SetUpError where the newest epoch has no such report.
    """
    ledger = find_table(LEDGER.name, warehouse)
    summary = None if ledger is None else read_summary(ledger, None)
    if summary is None:
        return Status(warehouse)
    shown = _shown(summary.policy.reports, report)
    return Status(warehouse, summary, shown.name, tuple(map(_window, latest_windows(warehouse, shown))))


def _shown(reports: Sequence[Report], name: str | None) -> Report:
    """The report to show, of those that have windows; `page_views` or else the first, if none is named."""
    named = {report.name: report for report in reports}
    if name is None:
        return named.get(_USUAL, reports[0])
    if name not in named:
        raise SetUpError(f"there is no report {name} with windows; there are {', '.join(named)}")
    return named[name]


def _window(row: Row) -> WindowStatus:
    start, end = (ms_of(row.pop(name)) for name in (c.WINDOW_START, c.WINDOW_END))
    return WindowStatus(start, end, row)
