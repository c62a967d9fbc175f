"""`tidemark reset-watermark`: puts back a watermark that one wrong clock took into the future.

It is one commit to the ledger, which opens an epoch, so a service that still runs is replaced. The start that follows
carries it to the tables. No window opens again that ended by the clock and is shown, or whose panes were merged.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from deltalake import DeltaTable

from pipeline.errors import SetUpError
from pipeline.event_time import settings_change
from pipeline.event_time.batch import EPOCH, Batch, LedgerRow
from pipeline.event_time.reports import Report
from pipeline.event_time.tallies import Tallies
from pipeline.event_time.watermark import Frontier, PartitionState
from pipeline.instants import moment, ms_of, now_ms, utc
from pipeline.results import layout
from pipeline.results.retention import removed
from pipeline.tables.ledger import Ledger, require_warehouse
from pipeline.tables.opening import Opening, Reset
from pipeline.tables.query import rows_of
from pipeline.tables.schemas import PANES, find_table
from pipeline.tables.transactions import MERGED_APP

_LATEST: Final = "SELECT max(window_end) AS latest FROM it WHERE window_end <= '{now}'"


def reset(warehouse: str, to_ms: int | None, reason: str, *, does_it: bool) -> str:
    """Puts it back, or does not; returns what was done, or would be.

    `to_ms` is by default the clock less the bound, or the end of the latest window that is shown, if that is later.
    Raises SetUpError where there is nothing to put back, later windows are shown already, or a service is at work.
    """
    require_warehouse(warehouse)
    ledger = Ledger(warehouse)
    rows = ledger.latest()
    if not rows or rows[0].watermark is None:
        raise SetUpError(f"the warehouse {warehouse} has no watermark yet: there is nothing to put back")
    before, now = ledger.opening(rows[0].epoch), now_ms()
    final = _final_until(warehouse, before, now)
    watermark = max(now - before.policy.strategy.idle_lag_ms, final) if to_ms is None else to_ms
    if watermark < final:
        raise SetUpError(
            f"windows up to {moment(final).isoformat()} are shown already and cannot open again: "
            "name that time or a later one"
        )
    was, will = moment(rows[0].watermark).isoformat(), moment(watermark).isoformat()
    if watermark >= rows[0].watermark:
        raise SetUpError(f"the watermark is {was}, no later than {will}: there is nothing to put back")
    if does_it:
        _open(warehouse, rows, _opening(rows[0], before, Reset(watermark, reason)), watermark)
    done = "is put back" if does_it else "would be put back; say --yes to do it"
    return f"The watermark of {warehouse} {done}: from {was} to {will}."


def _open(warehouse: str, rows: Sequence[LedgerRow], how: Opening, watermark: int) -> None:
    """Opens an epoch that goes on from there. Raises SetUpError if a service committed meanwhile."""
    ledger, batch = Ledger(warehouse), _batch(rows, how, watermark)
    stands = [row.batch for row in ledger.latest()] == [row.batch for row in rows]
    if not stands or not ledger.commit_next(batch.ledger_rows(now_ms())):
        raise SetUpError("a service is at work and has committed meanwhile: stop it first")


def _every_report(how: Opening, warehouse: str) -> list[Report]:
    """Also those that are not configured any more, which may come back."""
    return layout.stored_reports({*how.closed, *(report.name for report in how.policy.reports)}, warehouse)


def _opening(stood: LedgerRow, before: Opening, done: Reset) -> Opening:
    closed = settings_change.closed(
        before.policy, before.closed, stood.watermark, [one.name for one in before.policy.reports]
    )
    lowered = {name: min(until, done.watermark) for name, until in closed.items()}
    last = stood.batch if stood.batch % EPOCH else before.last_batch
    return replace(before, closed=lowered, last_batch=last, reset=done, process=None)


def _batch(rows: Sequence[LedgerRow], how: Opening, watermark: int) -> Batch:
    """A batch that reads nothing. An event time that would take the watermark away again is forgotten."""
    now, most = now_ms(), watermark + how.policy.strategy.idle_lag_ms
    stood = {row.partition: PartitionState(row.to_offset, now, row.max_event_time) for row in rows}
    kept = {
        number: state
        if state.max_event_time is None or state.max_event_time <= most
        else replace(state, max_event_time=None)
        for number, state in stood.items()
    }
    before, after = Frontier(stood, rows[0].watermark), Frontier(kept, watermark)
    number, topic = (rows[0].epoch + 1) * EPOCH, rows[0].topic
    return Batch(number, topic, before, after, Tallies(), {}, now, how.policy, {}, how.to_text())


def _final_until(warehouse: str, how: Opening, now: int) -> int:
    """Returns the end up to which no window can open again, in milliseconds; 0 if there is no such window.

    By the clock `now` windows that are shown; whatever clock there was, windows whose panes were merged or whose rows
    were removed by age.
    """
    panes = find_table(PANES.name, warehouse)
    ends = [0]
    for report in (one for one in _every_report(how, warehouse) if one.windows.by_time):
        table = find_table(report.name, warehouse)
        ends.append(panes.transaction_version(f"{MERGED_APP}{report.name}") or 0 if panes else 0)
        ends += [_latest_shown(table, now), removed(table)] if table else []
    return max(ends)


def _latest_shown(table: DeltaTable, now: int) -> int:
    """Returns the latest end of a window that a table shows and the clock has come to; 0 if there is none."""
    latest = rows_of(_LATEST.format(now=utc(now)), it=table)[0]["latest"]
    return ms_of(latest) if latest else 0
