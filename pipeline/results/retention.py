"""Removal of rows by age; a transaction version records in the same commit how far rows were removed.

Rows of a report are removed when their window is closed and ended long enough before the watermark. Dead letters are
removed when their batch was committed long enough ago and all windows of their events are final, because until then
`tidemark correct` may use them.
"""

from collections.abc import Mapping
from typing import Final

from deltalake import DeltaTable, Transaction

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import lateness, rules
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.table_retention import TableRetention
from tidemark.pipeline.instants import utc_sql
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.query import rows_of
from tidemark.pipeline.tables.schemas import DEAD_LETTERS, LEDGER, result_of
from tidemark.pipeline.tables.transactions import CLOSED_APP, REMOVED_APP, version_of

_LAST_BATCH_SQL: Final = """
SELECT max(batch) AS last FROM ledger WHERE batch < (
  SELECT coalesce(min(batch), {never}) FROM ledger WHERE committed_at > {younger} OR max_event_time >= {waits}
)
"""


def removed_until(table: DeltaTable) -> int:
    """Returns the last end of a window (ms), or last batch, whose rows were removed by age; 0 if no rows were."""
    return version_of(table, REMOVED_APP)


def remove_by_age(
    warehouse: str, retention: Mapping[str, TableRetention], policy: Policy, certain: int | None, batch: int, now: int
) -> None:
    """Removes rows that are older than their `retention`, at a committed batch and the clock `now` (ms).

    The age of a window is measured by the watermark `certain`. Raises Replaced if a newer service has started.
    """
    if certain is None:
        return
    ages = {name: table.rows_ms for name, table in retention.items() if table.rows_ms is not None}
    for report in policy.reports:
        if report.name in ages:
            handle = Handle(result_of(report).uri(warehouse))
            until = min(certain - ages[report.name], handle.last(CLOSED_APP))
            _remove(handle, f"{c.WINDOW_END} <= {utc_sql(until)}", until, batch)
    if DEAD_LETTERS.name in ages:
        waits = lateness.waits_from(policy.reports, certain)
        sql = _LAST_BATCH_SQL.format(never=rules.NEVER, younger=now - ages[DEAD_LETTERS.name], waits=waits)
        last = rows_of(sql, ledger=DeltaTable(LEDGER.uri(warehouse)))[0]["last"] or 0
        _remove(Handle(DEAD_LETTERS.uri(warehouse)), f"{c.BATCH} <= {last}", last, batch)


def _remove(handle: Handle, where: str, until: int, batch: int) -> None:
    """Removes rows and records `until`, unless rows were removed as far before."""
    while until > removed_until(handle.table):
        versions = [Transaction(REMOVED_APP, until), handle.amending()]
        if handle.remove(where, by=batch, transactions=versions):
            return
