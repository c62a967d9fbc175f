"""Invariant 6: rows of results are windows of their report that have fired, each once."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from tidemark.command_line.counts import counted
from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.count import Counts, SlidingCounts
from tidemark.pipeline.event_time.windows.kinds import AnyWindows
from tidemark.pipeline.tables.schemas import CORRECTIONS
from tidemark.pipeline.verifier import event_times, other_values, queries
from tidemark.pipeline.verifier.aligned_windows import aligned
from tidemark.pipeline.verifier.published_results import AnyResult, PublishedReport, PublishedTotals, published_results
from tidemark.pipeline.verifier.verification import Finding, Row, time_text
from tidemark.pipeline.verifier.warehouse_snapshot import NEVER_PUBLISHED, WarehouseSnapshot
from tidemark.pipeline.verifier.zone_calendar import follows

_INVALID_TOTALS_SQL: Final = "first_seen_ms > last_seen_ms OR sessions < 1 OR page_views < 0 OR clicks < 0"


def check(tables: WarehouseSnapshot, finding: Finding) -> None:
    """Checks each result."""
    for result in published_results(tables):
        rows = tables.scalar(f"SELECT count(*) FROM {result.table}")
        finding.count(rows, f"row of {result.name}", f"rows of {result.name}")
        _check_published(tables, result, finding)
        if isinstance(result, PublishedTotals):
            _check_users(tables, result, finding)
            continue
        if result.report.windows.by_time:
            _check_fired(tables, result, finding)
            _check_unique(tables, result, finding)
        other_values.check_fit(tables, result, finding)
        _check_fit(tables, result, finding)
        _check_counts(tables, result, finding)
        event_times.check_fit(tables, result, finding)


def _check_fired(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    """Checks that windows have fired; those of corrections alone may have closed before any publication."""
    reached = f"CASE WHEN published_batch = 0 THEN {max(result.highest, result.closed)} ELSE {result.highest} END"
    early = tables.ask(
        f"SELECT start_ms, end_ms, count(*) AS rows FROM {result.table} "
        f"WHERE end_ms > {reached} GROUP BY start_ms, end_ms ORDER BY end_ms, start_ms"
    )
    finding.report_rows(
        early,
        lambda row: (
            f"{result.place_of(row)} has not fired and shows {counted(row['rows'], 'row')}: the watermark of batch "
            f"{result.batch}, its last publication, is {time_text(result.highest)}"
        ),
    )


def _check_unique(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    repeated = tables.ask(queries.repeated_sql(result.table, result.cell))
    finding.report_rows(
        repeated, lambda row: f"{result.place_of(row)} occurs {row['found']} times, but must occur once"
    )


def _check_fit(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    """Checks that windows fit the report's definition."""
    windows = result.report.windows
    distinct = f"SELECT DISTINCT start_ms, end_ms, end_ms - start_ms AS length FROM {result.table}"
    if isinstance(windows, Calendar):
        _, rows = tables.compare(distinct, partial(_misfit, windows))
        finding.report_rows(
            rows,
            lambda row: (
                f"{result.place_of(row)} is no window of {windows.size_ms} ms by the calendar of {windows.zone}, "
                f"but {row['length']} ms long"
            ),
        )
        return
    finding.report_rows(
        tables.ask(f"{distinct} WHERE {_misfit_sql(windows)} ORDER BY start_ms, end_ms"),
        lambda row: f"{result.place_of(row)} is {row['length']} ms long, which does not fit {windows}",
    )


def _misfit(calendar: Calendar, row: Row) -> int | None:
    return None if follows(calendar, row["start_ms"], row["end_ms"]) else calendar.size_ms


def _misfit_sql(windows: AnyWindows) -> str:
    if arithmetic := aligned(windows):
        return arithmetic.misfit_sql()
    return f"end_ms - start_ms < {event_times.after_last_ms(windows)}"


def _check_counts(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    """Checks that a row has events, and no more late events than events, if its measures count all events."""
    report, event_count = result.report, result.events_sql
    if not event_count:
        return
    names = [name for name in (c.PAGE_VIEWS, c.CLICKS, c.EVENTS) if name in report.measures]
    violations = ["event_count <= 0", *(f"{name} < 0" for name in (*names, c.LATE_EVENTS)), "late_events > event_count"]
    violations += _other_size_sql(report.windows)
    if kinds := [name for name in names if name != c.EVENTS]:
        violations.append(f"event_count < {' + '.join(kinds)}")
    invalid = tables.ask(
        f"SELECT * FROM (SELECT *, {event_count} AS event_count FROM {result.table}) "
        f"AS counted WHERE {' OR '.join(violations)} ORDER BY start_ms, end_ms"
    )
    finding.report_rows(invalid, lambda row: _invalid_counts(row, result, names))


def _other_size_sql(windows: AnyWindows) -> list[str]:
    """SQL conditions: no count window has this number of events; none for other windows."""
    match windows:
        case Counts(size):
            return [f"event_count <> {size}"]
        case SlidingCounts(size, slide):
            return [f"event_count > {size}", f"(event_count < {size} AND event_count % {slide} <> 0)"]
        case _:
            return []


def _invalid_counts(row: Row, result: PublishedReport, names: Sequence[str]) -> str:
    where = f"{result.place_of(row)} shows {' and '.join(f'{row[name]} {name}' for name in names)}"
    match result.report.windows:
        case Counts(size):
            return f"{where} in a window of {counted(size, 'event')}"
        case SlidingCounts() as windows:
            return f"{where}, which does not fit {windows.describe()}"
        case _:
            return f"{where}, of which {row['late_events']} came late"


def _check_published(tables: WarehouseSnapshot, result: AnyResult, finding: Finding) -> None:
    """Checks that the ledger has the batches that published rows; rows of corrections alone have batch 0."""
    if result.batch != NEVER_PUBLISHED and not tables.scalar(
        f"SELECT count(*) FROM ledger WHERE batch = {result.batch}"
    ):
        finding.report(
            f"{result.name}: it is published up to batch {result.batch}, but the ledger ends with {tables.newest}"
        )
    unknown = tables.ask(
        f"SELECT published_batch, count(*) AS rows FROM {result.table} WHERE (published_batch IS NULL "
        f"OR published_batch NOT IN (SELECT batch FROM ledger) OR published_batch > {result.batch}) "
        f"AND NOT ((published_batch IS NOT DISTINCT FROM 0) AND {_corrected_sql(tables, result)}) "
        "GROUP BY published_batch ORDER BY published_batch"
    )
    finding.report_rows(
        unknown,
        f"{result.name}: {{rows:count row}} of batch {{published_batch}}, which the ledger does not have up to "
        f"batch {result.batch}",
    )


def _corrected_sql(tables: WarehouseSnapshot, result: AnyResult) -> str:
    """SQL condition: the row may consist of corrections only."""
    if CORRECTIONS.name not in tables.handles:
        return "false"
    if isinstance(result, PublishedTotals):
        return f"user_id IN (SELECT user_id FROM corrections WHERE report = '{result.name}')"
    return (
        f"end_ms IN (SELECT window_end_ms FROM corrections WHERE report = '{result.name}' "
        f"AND correction <= {result.corrected})"
    )


def _check_users(tables: WarehouseSnapshot, result: PublishedTotals, finding: Finding) -> None:
    finding.report_rows(
        tables.ask(queries.repeated_sql(result.table, ("user_id",))),
        f"{result.name}: user {{user_id!r}} occurs {{found}} times, but must occur once",
    )
    # A session may consist of events of other kinds alone.
    too_many = "" if result.has_other_kinds else " OR sessions > page_views + clicks"
    finding.report_rows(
        tables.ask(f"SELECT * FROM {result.table} WHERE {_INVALID_TOTALS_SQL}{too_many} ORDER BY user_id"),
        f"{result.name}: user {{user_id!r}} shows {{sessions:count session}} of {{page_views:count page view}} and "
        "{clicks:count click}, "
        "first seen {first_seen_ms:time}, last seen {last_seen_ms:time}",
    )
