"""Law 7: every counted event is in results or waits in panes, once; for every report that has a place for each."""

from typing import Final

from pipeline import columns as c
from pipeline.event_time import rules
from pipeline.event_time.batch import EPOCH
from pipeline.event_time.policy import TimeOf
from pipeline.event_time.reports import Report
from pipeline.event_time.windows.calendar import Calendar
from pipeline.event_time.windows.count import Counts
from pipeline.event_time.windows.session import Sessions
from pipeline.tables.schemas import DEAD_LETTERS, ERASURES, PANES
from pipeline.tables.transactions import ERASED_EVENTS_APP, ERASING_APP
from pipeline.verifier import count_windows, periodic_sums, queries, session_sums
from pipeline.verifier.aligned_windows import aligned
from pipeline.verifier.published_results import Shown, ShownTotals, shown_results
from pipeline.verifier.verification import Finding
from pipeline.verifier.warehouse_snapshot import WarehouseSnapshot
from pipeline.verifier.wording import moment
from pipeline.verifier.zone_calendar import ends_of

_EVENTS: Final = "CAST(coalesce(sum(page_views + clicks), 0) AS BIGINT)"
_QUARTER_MS: Final = 900_000


def check(tables: WarehouseSnapshot, finding: Finding) -> None:
    """Result by result, of those where an event has exactly one place."""
    if tables.version(PANES.name, ERASING_APP):
        finding.tell("a person is being erased, or that was cut off: then run `tidemark erase` again for the same one")
    for shown in shown_results(tables):
        if why := _why_left_out(tables, shown):
            finding.tell(f"{shown.name}{why}")
        else:
            _compare(tables, shown, finding)


def _why_left_out(tables: WarehouseSnapshot, shown: Shown | ShownTotals) -> str:
    if not shown.epochs or not (isinstance(shown, ShownTotals) or _has_one_place(shown.report)):
        return " does not tell of all events, each once: it is left out"
    if shown.removed:
        return f": windows that ended by {moment(shown.removed)} were removed by age: it is left out"
    is_of_sessions = isinstance(shown, Shown) and isinstance(shown.report.windows, Sessions)
    if is_of_sessions and any(one.reset for one in tables.openings.values()):
        return ": sessions cannot be told apart after a return to a lower watermark"
    return ""


def _has_one_place(report: Report) -> bool:
    return {*report.measures} >= {c.PAGE_VIEWS, c.CLICKS} and not report.where and not report.windows.has_overlap


def _compare(tables: WarehouseSnapshot, shown: Shown | ShownTotals, finding: Finding) -> None:
    least, most = _missed(tables, shown)
    there, parts = _there(tables, shown)
    erased = _erased(tables, shown.name, finding)
    counted = _of_ledger(tables, shown, "counted") - erased
    finding.look(counted, f"events of {shown.name}")
    if counted - most <= there <= counted - least:
        return
    late = f"{least} " if least == most else f"{least} to {most} "
    finding.breach(
        f"{shown.name}: there are {there} events ({parts}), but the ledger has {counted} that were counted since epoch "
        f"{shown.epochs[0]}{' and not erased' if erased else ''}, of which {late}came too late for this report"
    )


def _erased(tables: WarehouseSnapshot, name: str, finding: Finding) -> int:
    """How many events were erased, as the panes have it; what was written down of them may lag behind, and not more."""
    erased = tables.version(PANES.name, f"{ERASED_EVENTS_APP}{name}") or 0
    sums = f"SELECT sum(events) FROM erasures WHERE \"table\" = '{name}'"
    told = tables.number(sums) if ERASURES.name in tables.handles else 0
    if told > erased:
        finding.breach(f"{name}: {told} events of persons were erased by what erasures says, but by the panes {erased}")
    if told < erased:
        finding.tell(f"{name}: {erased - told} events of a person were erased by a run that was cut off")
    return erased


def _of_ledger(tables: WarehouseSnapshot, shown: Shown | ShownTotals, name: str) -> int:
    return tables.number(f"SELECT sum({name}) FROM ledger WHERE batch >= {shown.epochs[0] * EPOCH}")


def _there(tables: WarehouseSnapshot, shown: Shown | ShownTotals) -> tuple[int, str]:
    """How many events are there, and where."""
    if isinstance(shown, ShownTotals):  # a user's panes never go, and what they add up to is law 5
        in_panes = tables.number(f"SELECT {_EVENTS} FROM ({queries.parts(shown, published=False)}) AS parts")
        return in_panes, f"{in_panes} in panes"
    in_rows = tables.number(f"SELECT {_EVENTS} FROM {shown.table}")
    corrected = tables.number(f"SELECT {_EVENTS} FROM ({queries.corrections(tables, shown)}) AS added")
    waiting = tables.number(_waiting(tables, shown))
    return in_rows - corrected + waiting, f"{in_rows} shown, {corrected} of them corrected, and {waiting} in panes"


def _waiting(tables: WarehouseSnapshot, shown: Shown) -> str:
    """How many events are in panes and not shown: their window is not, or they came after the last publication."""
    windows = shown.report.windows
    parts = queries.parts(shown, published=False)
    late = f"SELECT {_EVENTS} AS events FROM ({parts}) AS parts WHERE batch > {shown.published}"
    if isinstance(windows, Counts):
        full = f"events = {windows.size} AND published_batch <= {shown.published}"
        return (
            f"{count_windows.windows(shown, windows, published=False)} SELECT {_EVENTS} FROM windows WHERE NOT ({full})"
        )
    if isinstance(windows, Sessions):
        begin = session_sums.sessions(shown, windows)
        unfired = f"SELECT {_EVENTS} AS events FROM sessions WHERE end_ms > {shown.watermark}"
        return f"{begin} SELECT sum(events) FROM ({unfired} UNION ALL {late}) AS both"
    placed = f"{periodic_sums.begin(tables, shown, published=False)} SELECT {_EVENTS} FROM placed"
    return (
        f"{placed} WHERE pane_start >= start_ms AND "
        f"(batch > {shown.published} OR end_ms NOT IN (SELECT end_ms FROM ({queries.rows(shown)}) AS result))"
    )


def _missed(tables: WarehouseSnapshot, shown: Shown | ShownTotals) -> tuple[int, int]:
    """At least and at most how many of the counted events came too late for this result."""
    if isinstance(shown, ShownTotals) or not shown.report.windows.by_time:
        return 0, 0
    if not _of_ledger(tables, shown, "partly_late"):
        return 0, 0
    removed = tables.removed(DEAD_LETTERS.name)
    least = 0
    most = tables.number(f"SELECT sum(partly_late) FROM ledger WHERE batch <= {removed}")
    for epoch in shown.epochs:
        opening = tables.openings[epoch]
        report = opening.report(shown.name)
        letters = f"reason = 'partly_late' AND batch / {EPOCH} = {epoch} AND batch IN (SELECT batch FROM ledger)"
        if opening.policy.time_of is TimeOf.PROCESSING:  # which time that was is written nowhere
            most += tables.number(f"SELECT count(*) FROM dead_letters WHERE {letters}")
            continue
        time = c.KAFKA_TIMESTAMP if opening.policy.time_of is TimeOf.INGESTION else c.EVENT_TIME
        lateness = report.allowed_lateness_ms if report else 0
        closed = opening.closed.get(shown.name, rules.NO_WATERMARK)
        end = _end(tables, shown, time, letters)
        exact = tables.number(
            f"SELECT count(*) FROM dead_letters WHERE {letters} AND {end} <= "
            f"greatest(coalesce(watermark, {rules.NO_WATERMARK}) - {lateness}, {closed})"
        )
        least, most = least + exact, most + exact
    return least, most


def _end(tables: WarehouseSnapshot, shown: Shown, time: str, letters: str) -> str:
    """SQL of the end of the window that a dead letter belongs to."""
    windows = shown.report.windows
    if isinstance(windows, Sessions):
        return f"{time} + {windows.gap_ms}"
    if it := aligned(windows):
        return it.end(time)
    assert isinstance(windows, Calendar)  # noqa: S101 - for the type checker
    slots = tables.ask(f"SELECT DISTINCT {time} / {_QUARTER_MS} AS slot FROM dead_letters WHERE {letters}")
    ends = ends_of(windows, [slot * _QUARTER_MS for slot in slots.column(0).to_pylist()])
    cases = " ".join(f"WHEN {at // _QUARTER_MS} THEN {end}" for at, end in ends.items())
    return f"CASE {time} / {_QUARTER_MS} {cases} END" if cases else "0"
