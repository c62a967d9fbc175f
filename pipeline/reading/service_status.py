"""`tidemark status`: reads the status without Spark, cheaply enough to be called once a second."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from tidemark.command_line.terminal import Console
from tidemark.pipeline import columns as c
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.instants import ms_of, now_ms
from tidemark.pipeline.reading.ledger_summary import read_summary
from tidemark.pipeline.reading.status_view import Status, WindowStatus, render
from tidemark.pipeline.tables.file_statistics import highest
from tidemark.pipeline.tables.ledger import require_warehouse
from tidemark.pipeline.tables.query import Row, rows_of
from tidemark.pipeline.tables.schemas import LEDGER, find_table

_DEFAULT_REPORT: Final = "page_views"
_WINDOWS: Final = 5
"""Number of latest windows."""


def print_status(warehouse: str, report: str | None = None, console: Console | None = None) -> None:
    """Prints the status. Raises SetUpError if there is no warehouse, or no report of this name."""
    require_warehouse(warehouse)
    (console or Console()).print(render(read_status(warehouse, report), now_ms()))


def read_status(warehouse: str, report: str | None = None) -> Status:
    """Returns the status as of the last commit, with the latest windows of `report`. Missing tables count as empty.

    Raises SetUpError if the newest epoch has no report of this name.
    """
    ledger = find_table(LEDGER.name, warehouse)
    summary = None if ledger is None else read_summary(ledger, None)
    if summary is None:
        return Status(warehouse)
    chosen = _chosen_report(summary.policy.reports, report)
    windows = tuple(map(_window_status, _latest_windows(warehouse, chosen)))
    return Status(warehouse, summary, chosen.name, windows)


def _chosen_report(reports: Sequence[Report], name: str | None) -> Report:
    """Returns the report with this name; without a name `page_views`, or else the first report."""
    by_name = {report.name: report for report in reports}
    if name is None:
        return by_name.get(_DEFAULT_REPORT, reports[0])
    if name not in by_name:
        raise SetUpError(f"there is no report {name} with windows; there are {', '.join(by_name)}")
    return by_name[name]


def _window_status(row: Row) -> WindowStatus:
    start, end = (ms_of(row.pop(name)) for name in (c.WINDOW_START, c.WINDOW_END))
    return WindowStatus(start, end, row)


def _latest_windows(warehouse: str, report: Report) -> list[Row]:
    """Returns the latest windows, newest first: start, end, `rows` and the sums of measures; empty without a table.

    Delta's statistics exclude older files, so few files are read.
    """
    table = find_table(report.name, warehouse)
    if table is None or (end := highest(table, c.WINDOW_END)) is None:
        return []
    newest = rows_of(f"SELECT window_start FROM report WHERE window_end = {_time_sql(end)} LIMIT 1", report=table)  # noqa: S608 - ours
    names = (*(measure.name for measure in report.window_sums), c.LATE_EVENTS)
    sums = "".join(f", sum({name}) AS {name}" for name in names)
    return rows_of(
        f"SELECT window_start, window_end, count(*) AS rows{sums} FROM report "  # noqa: S608 - our own names
        f"WHERE window_end > {_time_sql(end - _WINDOWS * (end - newest[0][c.WINDOW_START]))} "
        f"GROUP BY 1, 2 ORDER BY 2 DESC, 1 DESC LIMIT {_WINDOWS}",
        report=table,
    )


def _time_sql(time: datetime) -> str:
    return f"to_timestamp_micros({(time - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)})"
