"""Law 6: what results show are windows of their report that have fired, each once."""

from typing import Final

from pipeline import columns as c
from pipeline.event_time.windows.base import Windows
from pipeline.event_time.windows.calendar import Calendar
from pipeline.event_time.windows.count import Counts
from pipeline.event_time.windows.session import Sessions
from pipeline.tables.schemas import CORRECTIONS
from pipeline.verifier import event_times, queries
from pipeline.verifier.aligned_windows import aligned
from pipeline.verifier.published_results import Shown, ShownTotals, shown_results
from pipeline.verifier.verification import Finding
from pipeline.verifier.warehouse_snapshot import NEVER_PUBLISHED, WarehouseSnapshot
from pipeline.verifier.wording import Row, moment
from pipeline.verifier.zone_calendar import follows

_EVENTS: Final = {c.PAGE_VIEWS, c.CLICKS}
# Of totals: what no user can show.
_ODD_TOTALS: Final = (
    "first_seen > last_seen OR sessions < 1 OR page_views < 0 OR clicks < 0 OR sessions > page_views + clicks"
)


def check(tables: WarehouseSnapshot, finding: Finding) -> None:
    """Result by result."""
    for shown in shown_results(tables):
        finding.look(tables.number(f"SELECT count(*) FROM {shown.table}"), f"rows of {shown.name}")
        _check_published(tables, shown, finding)
        if isinstance(shown, ShownTotals):
            _check_users(tables, shown, finding)
            continue
        if shown.report.windows.by_time:
            _check_fired(tables, shown, finding)
            _check_once(tables, shown, finding)
        _check_fit(tables, shown, finding)
        _check_counts(tables, shown, finding)
        event_times.check_fit(tables, shown, finding)


def _check_fired(tables: WarehouseSnapshot, shown: Shown, finding: Finding) -> None:
    early = tables.ask(
        f"SELECT start_ms, end_ms, count(*) AS rows FROM ({queries.rows(shown)}) AS result "
        f"WHERE end_ms > {shown.highest} GROUP BY start_ms, end_ms ORDER BY end_ms, start_ms"
    )
    finding.each(
        early,
        lambda row: (
            f"{shown.at(row)} has not fired and shows {row['rows']} rows: the watermark of batch {shown.published}, "
            f"its last publication, is {moment(shown.highest)}"
        ),
    )


def _check_once(tables: WarehouseSnapshot, shown: Shown, finding: Finding) -> None:
    twice = tables.ask(queries.twice(f"({queries.rows(shown)}) AS result", shown.cell))
    finding.each(twice, lambda row: f"{shown.at(row)} is there {row['found']} times, but must be once")


def _check_fit(tables: WarehouseSnapshot, shown: Shown, finding: Finding) -> None:
    """That windows are such as the definition says."""
    windows = shown.report.windows
    distinct = f"SELECT DISTINCT start_ms, end_ms, end_ms - start_ms AS length FROM ({queries.rows(shown)}) AS result"
    if isinstance(windows, Calendar):
        for row in tables.ask(distinct).to_pylist():
            if not follows(windows, row["start_ms"], row["end_ms"]):
                finding.breach(
                    f"{shown.at(row)} is no window of {windows.size_ms} ms by the calendar of {windows.zone}, "
                    f"but {row['length']} ms long"
                )
        return
    finding.each(
        tables.ask(f"{distinct} WHERE {_misfit(windows)} ORDER BY start_ms, end_ms"),
        lambda row: f"{shown.at(row)} is {row['length']} ms long, which does not fit {windows}",
    )


def _misfit(windows: Windows) -> str:
    if it := aligned(windows):
        return it.misfit()
    return f"end_ms - start_ms < {windows.gap_ms if isinstance(windows, Sessions) else 1}"


def _check_counts(tables: WarehouseSnapshot, shown: Shown, finding: Finding) -> None:
    """That a row tells of some events, of which no more came late than there are; where it tells of all of them."""
    report = shown.report
    if not {*report.measures} >= _EVENTS:
        return
    size = report.windows.size if isinstance(report.windows, Counts) else 0
    number = f"OR events <> {size}" if size else ""
    odd = tables.ask(
        f"SELECT * FROM (SELECT *, page_views + clicks AS events FROM ({queries.rows(shown)}) AS result) AS counted "
        "WHERE events <= 0 OR page_views < 0 OR clicks < 0 OR late_events < 0 OR late_events > events "
        f"{number} ORDER BY start_ms, end_ms"
    )
    finding.each(odd, lambda row: _counts_oddly(row, shown, size))


def _counts_oddly(row: Row, shown: Shown, size: int) -> str:
    where = f"{shown.at(row)} shows {row['page_views']} page_views and {row['clicks']} clicks"
    return f"{where} in a window of {size} events" if size else f"{where}, of which {row['late_events']} came late"


def _check_published(tables: WarehouseSnapshot, shown: Shown | ShownTotals, finding: Finding) -> None:
    """That rows were published by batches that the ledger has; by none where they were only corrected."""
    if shown.published != NEVER_PUBLISHED and not tables.number(
        f"SELECT count(*) FROM ledger WHERE batch = {shown.published}"
    ):
        finding.breach(
            f"{shown.name}: it is published up to batch {shown.published}, but the ledger ends with {tables.newest}"
        )
    by = tables.ask(
        f"SELECT published_batch, count(*) AS rows FROM {shown.table} WHERE (published_batch IS NULL "
        f"OR published_batch NOT IN (SELECT batch FROM ledger) OR published_batch > {shown.published}) "
        f"AND NOT ((published_batch IS NOT DISTINCT FROM 0) AND {_corrected(tables, shown)}) "
        "GROUP BY published_batch ORDER BY published_batch"
    )
    finding.each(
        by,
        f"{shown.name}: {{rows}} rows were published by batch {{published_batch}}, which the ledger does not have up "
        f"to batch {shown.published}",
    )


def _corrected(tables: WarehouseSnapshot, shown: Shown | ShownTotals) -> str:
    """That a row may stem from corrections alone."""
    if CORRECTIONS.name not in tables.handles:
        return "false"
    if isinstance(shown, ShownTotals):
        return f"user_id IN (SELECT user_id FROM corrections WHERE report = '{shown.name}')"
    end = "CAST(window_end AS BIGINT) / 1000"
    known = f"SELECT window_end_ms FROM corrections WHERE report = '{shown.name}' AND correction <= {shown.corrected}"
    return f"{end} IN ({known})"


def _check_users(tables: WarehouseSnapshot, shown: ShownTotals, finding: Finding) -> None:
    finding.each(
        tables.ask(queries.twice(shown.table, ("user_id",))),
        f"{shown.name}: user {{user_id!r}} is there {{found}} times, but must be once",
    )
    finding.each(
        tables.ask(f"SELECT *, page_views + clicks AS events FROM {shown.table} WHERE {_ODD_TOTALS} ORDER BY user_id"),
        f"{shown.name}: user {{user_id!r}} shows {{sessions}} sessions of {{events}} events, "
        "first seen {first_seen}, last seen {last_seen}",
    )
