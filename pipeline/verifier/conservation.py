"""Invariant 7: every counted event is in results or waits in panes, once, for each report that counts all events."""

from typing import Final, assert_never

from tidemark.command_line.counts import counted
from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.event_time.policy import TimeOf
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.count import Counts, SlidingCounts
from tidemark.pipeline.event_time.windows.periodic import Periodic
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, ERASURES, PANES
from tidemark.pipeline.tables.transactions import ERASED_EVENTS_APP, ERASING_APP
from tidemark.pipeline.verifier import count_windows, event_times, periodic_sums, queries, session_sums
from tidemark.pipeline.verifier.aligned_windows import aligned
from tidemark.pipeline.verifier.published_results import AnyResult, PublishedReport, PublishedTotals, published_results
from tidemark.pipeline.verifier.verification import Finding, time_text
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot
from tidemark.pipeline.verifier.zone_calendar import ends_of

_EVENT_COUNT_SQL: Final = "CAST(coalesce(sum(event_count), 0) AS BIGINT)"
_QUARTER_MS: Final = 900_000


def check(tables: WarehouseSnapshot, finding: Finding) -> None:
    """Compares the sums of each result that counts every event exactly once."""
    if tables.version(PANES.name, ERASING_APP):
        finding.note(
            "a person is being erased. If that was interrupted, run `tidemark erase` again for the same person"
        )
    for result in published_results(tables):
        if reason := _why_skipped(tables, result):
            finding.note(f"{result.name}{reason}")
        else:
            _compare(tables, result, finding)


def _why_skipped(tables: WarehouseSnapshot, result: AnyResult) -> str:
    if not result.epochs or not (isinstance(result, PublishedTotals) or _counts_all_once(result)):
        return " does not count every event once: it is not checked"
    if result.removed:
        return f": windows that ended by {time_text(result.removed)} were removed by age: it is not checked"
    is_of_sessions = isinstance(result, PublishedReport) and result.report.windows.event_ms
    if is_of_sessions and any(opening.reset for opening in tables.openings.values()):
        return ": sessions are ambiguous after a reset of the watermark: it is not checked"
    return ""


def _counts_all_once(result: PublishedReport) -> bool:
    """Returns whether rows count all events and no event is in two rows, or panes keep every event."""
    windows = result.report.windows
    is_in_one = not windows.has_overlap or windows.keeps_events
    return bool(result.events_sql) and not result.report.where and is_in_one


def _compare(tables: WarehouseSnapshot, result: AnyResult, finding: Finding) -> None:
    least, most = _missed(tables, result)
    found, where = _found(tables, result)
    erased = _erased(tables, result.name, finding)
    in_ledger = _ledger_sum(tables, result, "counted") - erased
    finding.count(in_ledger, f"event of {result.name}", f"events of {result.name}")
    if in_ledger - most <= found <= in_ledger - least:
        return
    late = f"{least} " if least == most else f"{least} to {most} "
    finding.report(
        f"{result.name}: found {counted(found, 'event')} ({where}), but the ledger has {in_ledger} that were counted "
        f"since epoch {result.epochs[0]}{' and not erased' if erased else ''}, of which {late}came too late for this "
        "report"
    )


def _erased(tables: WarehouseSnapshot, name: str, finding: Finding) -> int:
    """Returns the number of erased events by the panes; `erasures` may have fewer until a run is repeated, not more."""
    erased = tables.version(PANES.name, f"{ERASED_EVENTS_APP}{name}") or 0
    recorded_sql = f"SELECT sum(events) FROM erasures WHERE \"table\" = '{name}'"
    recorded = tables.scalar(recorded_sql) if ERASURES.name in tables.handles else 0
    if recorded > erased:
        finding.report(f"{name}: erasures has {counted(recorded, 'event')} of persons, but the panes {erased}")
    if recorded < erased:
        finding.note(f"{name}: a run that was interrupted erased {counted(erased - recorded, 'event')} of a person")
    return erased


def _ledger_sum(tables: WarehouseSnapshot, result: AnyResult, name: str) -> int:
    return tables.scalar(f"SELECT sum({name}) FROM ledger WHERE batch >= {result.epochs[0] * EPOCH}")


def _found(tables: WarehouseSnapshot, result: AnyResult) -> tuple[int, str]:
    """Returns the number of events in panes and results, and where they are."""
    # These panes stay, and invariant 5 compares their sums: of reports in which an event is in several rows, too.
    if isinstance(result, PublishedTotals) or result.report.windows.has_overlap:
        in_panes = tables.scalar(
            f"SELECT {_EVENT_COUNT_SQL} FROM ({queries.panes_sql(result, published=False)}) AS parts"
        )
        return in_panes, f"{in_panes} in panes"
    in_rows = tables.scalar(f"SELECT sum({result.events_sql}) FROM {result.table}")
    added = queries.corrections_sql(tables, result)
    corrected = tables.scalar(f"SELECT sum({result.corrected_events_sql}) FROM ({added}) AS added")
    waiting = tables.scalar(_waiting_sql(tables, result))
    return in_rows - corrected + waiting, f"{in_rows} shown, {corrected} of them corrected, and {waiting} in panes"


def _waiting_sql(tables: WarehouseSnapshot, result: PublishedReport) -> str:
    """SQL: the number of events in panes whose window is not published, or that came after the last publication."""
    parts = queries.panes_sql(result, published=False)
    late = f"SELECT {_EVENT_COUNT_SQL} AS events FROM ({parts}) AS parts WHERE batch > {result.batch}"
    match result.report.windows:
        case Counts() as windows:
            full = f"SELECT count(*) * {windows.size} FROM windows WHERE published_batch <= {result.batch}"
            with_windows = count_windows.with_full_windows(result, windows, published=False)
            return f"{with_windows} SELECT {_EVENT_COUNT_SQL} - ({full}) FROM parts"
        case Sessions() as windows:
            with_sessions = session_sums.with_sessions(result, windows)
            unfired = f"SELECT coalesce(sum(events), 0) AS events FROM sessions WHERE end_ms > {result.watermark}"
            return f"{with_sessions} SELECT sum(events) FROM ({unfired} UNION ALL {late}) AS both"
        case SlidingCounts():
            return f"SELECT {_EVENT_COUNT_SQL} FROM ({parts}) AS parts"
        case Periodic():
            placed = f"{periodic_sums.with_sums(tables, result, published=False)} SELECT {_EVENT_COUNT_SQL} FROM placed"
            return (
                f"{placed} WHERE pane_start >= start_ms AND "
                f"(batch > {result.batch} OR end_ms NOT IN (SELECT DISTINCT end_ms FROM {result.table}))"
            )
        case _:
            assert_never(result.report.windows)


def _missed(tables: WarehouseSnapshot, result: AnyResult) -> tuple[int, int]:
    """Returns the least and the highest possible number of counted events that came too late for this result."""
    if isinstance(result, PublishedTotals) or not result.report.windows.by_time:
        return 0, 0
    if not _ledger_sum(tables, result, "partly_late"):
        return 0, 0
    removed = tables.removed_until(DEAD_LETTERS.name)
    least = 0
    most = tables.scalar(f"SELECT sum(partly_late) FROM ledger WHERE batch <= {removed}")
    for epoch in result.epochs:
        opening = tables.openings[epoch]
        report = opening.report(result.name)
        in_epoch = f"batch BETWEEN {epoch * EPOCH} AND {epoch * EPOCH + EPOCH - 1}"
        letters = f"reason = 'partly_late' AND {in_epoch} AND batch IN (SELECT batch FROM ledger)"
        if opening.policy.time_of is TimeOf.PROCESSING:  # their time is not stored
            most += tables.scalar(f"SELECT count(*) FROM dead_letters WHERE {letters}")
            continue
        time = c.KAFKA_TIMESTAMP if opening.policy.time_of is TimeOf.INGESTION else c.EVENT_TIME
        lateness = report.allowed_lateness_ms if report else 0
        closed = opening.closed.get(result.name, rules.NO_WATERMARK)
        end = _end_sql(tables, result, time, letters)
        exact = tables.scalar(
            f"SELECT count(*) FROM dead_letters WHERE {letters} AND {end} <= "
            f"greatest(coalesce(watermark, {rules.NO_WATERMARK}) - {lateness}, {closed})"
        )
        least, most = least + exact, most + exact
    return least, most


def _end_sql(tables: WarehouseSnapshot, result: PublishedReport, time: str, letters: str) -> str:
    """SQL: the end of the window of dead letters; `time` is a column, `letters` the condition that selects them."""
    windows = result.report.windows
    if not isinstance(windows, Calendar):
        arithmetic = aligned(windows)
        return arithmetic.end_sql(time) if arithmetic else f"{time} + {event_times.after_last_ms(windows)}"
    quarter = f"{time} - {time} % {_QUARTER_MS}"
    quarters = tables.ask(f"SELECT DISTINCT {quarter} AS start_ms FROM dead_letters WHERE {letters}")
    cases = " ".join(f"WHEN {at} THEN {end}" for at, end in ends_of(windows, quarters.column(0).to_pylist()).items())
    return f"CASE {quarter} {cases} END" if cases else "0"
