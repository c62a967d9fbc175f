"""`tidemark reset-watermark`: puts back a watermark that one wrong clock took into the future.

It opens an epoch of its own, so a service that still runs is replaced, and the ledger tells of it. What is closed and
shown stays as it is: no window that ends by the new watermark opens again.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from pipeline.errors import SetUpError
from pipeline.event_time import opening
from pipeline.event_time.batch import EPOCH, Batch, LedgerRow
from pipeline.event_time.report import Report
from pipeline.event_time.tallies import Tallies
from pipeline.event_time.watermark import Frontier, PartitionState
from pipeline.tables import layout
from pipeline.tables.ledger import Ledger, require_warehouse
from pipeline.tables.opening import Opening, Reset
from pipeline.tables.query import rows_of
from pipeline.tables.results.result_table import Results, moment, utc
from pipeline.tables.schemas import find_table, result_of

_LATEST: Final = "SELECT max(window_end) AS latest FROM it WHERE window_end <= '{now}'"


@dataclass(frozen=True, slots=True)
class Plan:
    """Where a warehouse stands, and where it would go on; times in milliseconds."""

    rows: Sequence[LedgerRow]
    before: Opening
    watermark: int
    reason: str


def reset(warehouse: str, to_ms: int | None, reason: str, *, does_it: bool) -> str:
    """Puts it back, or does not; returns what was done, or would be."""
    plan = plan_reset(warehouse, to_ms, reason)
    stood = plan.rows[0].watermark
    assert stood is not None  # noqa: S101 - else there would be no plan
    was, will = moment(stood).isoformat(), moment(plan.watermark).isoformat()
    if does_it:
        apply_reset(warehouse, plan)
    done = "is put back" if does_it else "would be put back; say --yes to do it"
    return f"The watermark of {warehouse} {done}: from {was} to {will}."


def plan_reset(warehouse: str, to_ms: int | None, reason: str) -> Plan:
    """The reset that would be made. Raises SetUpError where there is none to make, or later windows are shown already.

    `to_ms` is by default the clock less the bound, or the end of the latest window that is shown, if that is later.
    """
    require_warehouse(warehouse)
    ledger = Ledger(warehouse)
    rows = ledger.latest()
    if not rows or rows[0].watermark is None:
        raise SetUpError(f"the warehouse {warehouse} has no watermark yet: there is nothing to put back")
    before, now = ledger.opening(rows[0].epoch), time.time_ns() // 1_000_000
    shown = max((_latest_shown(warehouse, report, now) for report in _every_report(before, warehouse)), default=0)
    watermark = max(now - before.policy.strategy.idle_lag_ms, shown) if to_ms is None else to_ms
    if watermark < shown:
        raise SetUpError(
            f"windows up to {moment(shown).isoformat()} are shown already and cannot open again: "
            "name that time or a later one"
        )
    if watermark >= rows[0].watermark:
        raise SetUpError(
            f"the watermark is {moment(rows[0].watermark).isoformat()}, no later than {moment(watermark).isoformat()}: "
            "there is nothing to put back"
        )
    return Plan(rows, before, watermark, reason)


def apply_reset(warehouse: str, plan: Plan) -> None:
    """Opens an epoch that goes on from there. Raises SetUpError if a service committed meanwhile."""
    number = (plan.rows[0].epoch + 1) * EPOCH
    ledger, how = Ledger(warehouse), _opening(plan)
    stands = [row.batch for row in ledger.latest()] == [row.batch for row in plan.rows]
    if not stands or not ledger.commit_next(_batch(plan, number, how).ledger_rows(time.time_ns() // 1_000_000)):
        raise SetUpError("a service is at work and has committed meanwhile: stop it first")
    for report in _every_report(how, warehouse):
        if report.windows.by_time:
            Results(warehouse, result_of(report)).reset(number, how.closed[report.name])


def _every_report(how: Opening, warehouse: str) -> list[Report]:
    """Also those that are not configured any more, which may come back."""
    return layout.stored_reports({*how.closed, *(report.name for report in how.policy.reports)}, warehouse)


def _opening(plan: Plan) -> Opening:
    stood, names = plan.rows[0], [report.name for report in plan.before.policy.reports]
    closed = opening.closed(plan.before.policy, plan.before.closed, stood.watermark, names)
    lowered = {name: min(until, plan.watermark) for name, until in closed.items()}
    last = stood.batch if stood.batch % EPOCH else plan.before.last_batch
    return replace(plan.before, closed=lowered, last_batch=last, reset=Reset(plan.watermark, plan.reason))


def _batch(plan: Plan, number: int, how: Opening) -> Batch:
    """A batch that reads nothing. An event time that would take the watermark away again is forgotten."""
    now, most = time.time_ns() // 1_000_000, plan.watermark + how.policy.strategy.idle_lag_ms
    stood = {row.partition: PartitionState(row.to_offset, now, row.max_event_time) for row in plan.rows}
    kept = {
        number: state
        if state.max_event_time is None or state.max_event_time <= most
        else replace(state, max_event_time=None)
        for number, state in stood.items()
    }
    before, after = Frontier(stood, plan.rows[0].watermark), Frontier(kept, plan.watermark)
    return Batch(number, plan.rows[0].topic, before, after, Tallies(), {}, now, how.policy, {}, how.to_text())


def _latest_shown(warehouse: str, report: Report, now: int) -> int:
    """The latest end of a window that a report shows and the clock has come to; 0 if there is none."""
    table = find_table(report.name, warehouse)
    if not report.windows.by_time or table is None:
        return 0
    latest: datetime | None = rows_of(_LATEST.format(now=utc(now)), it=table)[0]["latest"]
    return round(latest.timestamp() * 1000) if latest else 0
