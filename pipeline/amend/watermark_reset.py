"""`tidemark reset-watermark`: lowers a watermark that a wrong clock moved into the future.

One commit to the ledger opens an epoch, so a running service is replaced. The next start applies it to the tables. A
window stays closed if it has ended by the clock and is published, or if its panes were merged.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from deltalake import DeltaTable

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time import lateness, settings_change
from tidemark.pipeline.event_time.batch import EPOCH, Batch, LedgerRow, arrival_after
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.tallies import Tallies
from tidemark.pipeline.event_time.watermark import Frontier, PartitionState
from tidemark.pipeline.instants import moment, now_ms
from tidemark.pipeline.results import layout
from tidemark.pipeline.results.kind_registry import kind_of
from tidemark.pipeline.results.result_table import latest_end
from tidemark.pipeline.results.retention import removed_until
from tidemark.pipeline.tables.ledger import Ledger, require_warehouse
from tidemark.pipeline.tables.opening import Opening, Reset
from tidemark.pipeline.tables.query import rows_of
from tidemark.pipeline.tables.schemas import CORRECTIONS, EVENT_IDS, PANES, find_table
from tidemark.pipeline.tables.transactions import FORGOTTEN_BEFORE_APP, MERGED_APP, version_of

_CORRECTED_SQL: Final = """
SELECT greatest(max(corrections.window_end_ms), max(CAST(result.window_end AS BIGINT) / 1000)) AS latest
FROM corrections LEFT JOIN result ON {grows} {same_keys}
  AND CAST(result.window_start AS BIGINT) / 1000 <= corrections.window_end_ms
  AND CAST(result.window_end AS BIGINT) / 1000 >= corrections.window_start_ms
WHERE corrections.report = '{report}'
"""


def reset(warehouse: str, to_ms: int | None, reason: str, *, confirmed: bool) -> str:
    """Lowers the watermark if `confirmed`; returns a sentence on what was done, or would be.

    `to_ms` is by default the clock minus the bound, or the end of the latest published window if that is later. Raises
    SetUpError if the watermark is not higher, a later window is published, or a service is running.
    """
    require_warehouse(warehouse)
    ledger = Ledger(warehouse)
    rows = ledger.latest()
    if not rows or rows[0].watermark is None:
        raise SetUpError(f"the warehouse {warehouse} has no watermark yet: there is nothing to lower")
    before, now = ledger.opening(rows[0].epoch), now_ms()
    final = _final_until(warehouse, before, now)
    watermark = max(now - before.policy.strategy.delay_ms, final) if to_ms is None else to_ms
    if watermark < final:
        raise SetUpError(
            f"windows up to {moment(final).isoformat()} are published already and cannot open again: "
            "name that time or a later time"
        )
    was, will = moment(rows[0].watermark).isoformat(), moment(watermark).isoformat()
    if watermark >= rows[0].watermark:
        raise SetUpError(f"the watermark is {was}, no later than {will}: there is nothing to lower")
    if confirmed:
        _open(warehouse, rows, _opening(rows[0], before, Reset(watermark, reason)), watermark)
    done = "is lowered" if confirmed else "would be lowered; say --yes to do it"
    return f"The watermark of {warehouse} {done}: from {was} to {will}."


def _open(warehouse: str, rows: Sequence[LedgerRow], opening: Opening, watermark: int) -> None:
    """Opens an epoch at a watermark. Raises SetUpError if a service has committed since `rows` were read."""
    ledger, batch = Ledger(warehouse), _batch(rows, opening, watermark)
    is_unchanged = [row.batch for row in ledger.latest()] == [row.batch for row in rows]
    if not is_unchanged or not ledger.commit_next(batch.ledger_rows(now_ms())):
        raise SetUpError("a service is running and has committed meanwhile: stop it first")


def _every_report(opening: Opening, warehouse: str) -> list[Report]:
    """Returns all reports, also those that are no longer configured, which may return."""
    return layout.stored_reports({*opening.closed, *(report.name for report in opening.policy.reports)}, warehouse)


def _opening(last: LedgerRow, before: Opening, reset: Reset) -> Opening:
    closed = settings_change.closed(
        before.policy, before.closed, last.watermark, [report.name for report in before.policy.reports]
    )
    last_batch = last.batch if last.batch % EPOCH else before.last_batch
    lowered = {name: min(until, reset.watermark) for name, until in closed.items()}
    return replace(before, closed=lowered, last_batch=last_batch, reset=reset, process=None)


def _batch(rows: Sequence[LedgerRow], opening: Opening, watermark: int) -> Batch:
    """Returns a batch without records. Event times that would move the watermark ahead again are forgotten."""
    now, most = now_ms(), watermark + opening.policy.strategy.delay_ms
    states = {row.partition: PartitionState(row.to_offset, now, row.max_event_time) for row in rows}
    lowered = {
        partition: state
        if state.max_event_time is None or state.max_event_time <= most
        else replace(state, max_event_time=None)
        for partition, state in states.items()
    }
    before = Frontier(states, rows[0].watermark, arrival_after(rows, opening.policy))
    after = replace(before, partitions=lowered, arrival=before.arrival and before.arrival.without_times(most))
    after = after.at(watermark)
    batch_id, topic = (rows[0].epoch + 1) * EPOCH, rows[0].topic
    return Batch(batch_id, topic, before, after, Tallies(), {}, now, opening.policy, {}, opening.to_text())


def _final_until(warehouse: str, opening: Opening, now: int) -> int:
    """Returns the end up to which no window can open again, in milliseconds; 0 if there is no such window.

    These are published windows that have ended at `now`, windows whose panes were merged or whose rows were removed by
    age, windows that corrections joined (a session of them has events from before its panes), and those of events whose
    ids were forgotten.
    """
    panes, corrections = find_table(PANES.name, warehouse), find_table(CORRECTIONS.name, warehouse)
    ends = [0]
    for report in (report for report in _every_report(opening, warehouse) if report.windows.by_time):
        table = find_table(report.name, warehouse)
        ends.append(version_of(panes, f"{MERGED_APP}{report.name}"))
        ends += [latest_end(table, now), removed_until(table)] if table else []
        ends += [_latest_corrected(report, table, corrections)] if table and corrections else []
    return max(*ends, _forgotten_until(warehouse, opening))


def _forgotten_until(warehouse: str, opening: Opening) -> int:
    """Returns the lowest watermark, in ms, by which events whose ids were forgotten are too late; 0 without ids."""
    before = version_of(find_table(EVENT_IDS.name, warehouse), FORGOTTEN_BEFORE_APP)
    return lateness.too_late_at(opening.policy.reports, before - 1) if before else 0


def _latest_corrected(report: Report, table: DeltaTable, corrections: DeltaTable) -> int:
    """Returns the latest end, in ms, of a window with a correction; 0 without such a window.

    A window that grows is joined by its corrections, also by those that are decided and not yet added.
    """
    same_keys = report.same_keys_sql(CORRECTIONS.name)
    grows = str(kind_of(report).grows).lower()
    sql = _CORRECTED_SQL.format(report=report.name, grows=grows, same_keys=same_keys)
    return int(rows_of(sql, result=table, corrections=corrections)[0]["latest"] or 0)
