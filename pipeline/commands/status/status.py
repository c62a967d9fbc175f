"""`tidemark status`: what the tables say, read without Spark. Cheap enough to be asked once a second."""

import time
from typing import Final

from deltalake import DeltaTable
from rich.console import Console

from pipeline import columns as c
from pipeline.commands.status.view import PartitionStatus, Status, WindowStatus, render
from pipeline.errors import SetUpError
from pipeline.event_time.batch import EPOCH
from pipeline.event_time.policy import Verdict
from pipeline.event_time.report import Report
from pipeline.tables.latest import latest_windows
from pipeline.tables.ledger import rate_of, recent_rows, require_warehouse, sums_of
from pipeline.tables.opening import Opening
from pipeline.tables.query import Row, rows_of
from pipeline.tables.schemas import LEDGER, find_table

_USUAL: Final = "page_views"


def print_status(warehouse: str, report: str | None = None, console: Console | None = None) -> None:
    """Prints the status. Raises SetUpError where there is no warehouse, or no such report."""
    require_warehouse(warehouse)
    (console or Console()).print(render(read_status(warehouse, report), time.time_ns() // 1_000_000))


def read_status(warehouse: str, report: str | None = None) -> Status:
    """The status as of the last commit, with the windows of a report; tables that do not exist yet count as empty.

    Raises SetUpError where the newest epoch has no such report.
    """
    ledger = find_table(LEDGER.name, warehouse)
    if ledger is None:
        return Status(warehouse)
    totals = _totals(ledger)
    if totals[c.BATCH] is None:
        return Status(warehouse)
    recent = recent_rows(ledger, totals[c.BATCH])
    last = [row for row in recent if row[c.BATCH] == totals[c.BATCH]]
    shown = _report(ledger, totals[c.BATCH] // EPOCH, report)
    return Status(
        warehouse=warehouse,
        topic=last[0][c.TOPIC],
        epoch=totals[c.BATCH] // EPOCH,
        batch=totals[c.BATCH] % EPOCH,
        committed_at=last[0]["committed_at"],
        watermark=last[0][c.WATERMARK],
        records_per_second=rate_of(recent),
        partitions=tuple(PartitionStatus(row[c.PARTITION], row["to_offset"], row[c.MAX_EVENT_TIME]) for row in last),
        verdicts={verdict: totals[verdict] for verdict in Verdict},
        partly_late=totals["partly_late"],
        report=shown.name,
        windows=tuple(map(_window, latest_windows(warehouse, shown))),
    )


def _totals(ledger: DeltaTable) -> Row:
    """The newest batch, and all records by verdict."""
    sums = sums_of(ledger, [*Verdict, "partly_late"])
    return rows_of(f"SELECT max({c.BATCH}) AS {c.BATCH}, {sums} FROM ledger", ledger=ledger)[0]  # noqa: S608 - our own names


def _report(ledger: DeltaTable, epoch: int, name: str | None) -> Report:
    """The report to show, of those of an epoch that have windows; `page_views` or else the first, if none is named."""
    sql = f"SELECT opening FROM ledger WHERE {c.BATCH} = {epoch * EPOCH} AND opening IS NOT NULL LIMIT 1"  # noqa: S608 - ours
    reports = Opening.from_text(rows_of(sql, ledger=ledger)[0]["opening"]).policy.reports
    named = {report.name: report for report in reports}
    if name is None:
        return named.get(_USUAL, reports[0])
    if name not in named:
        raise SetUpError(f"there is no report {name} with windows; there are {', '.join(named)}")
    return named[name]


def _window(row: Row) -> WindowStatus:
    start, end = (round(row.pop(name).timestamp() * 1000) for name in (c.WINDOW_START, c.WINDOW_END))
    return WindowStatus(start, end, row)
