"""Removing rows by age, where the settings say so; how far is kept with the table, in the same commit.

Of a report windows go that ended so long before the watermark, once they are closed. Dead letters go with batches that
were committed so long ago, once every window of time of their events is final: `tidemark correct` could have had them.
"""

from collections.abc import Mapping
from typing import Final

from deltalake import DeltaTable, Transaction

from pipeline import columns as c
from pipeline.event_time import lateness, rules
from pipeline.event_time.policy import Policy
from pipeline.event_time.table_retention import TableRetention
from pipeline.instants import utc
from pipeline.tables.handle import Handle
from pipeline.tables.query import rows_of
from pipeline.tables.schemas import DEAD_LETTERS, LEDGER, result_of
from pipeline.tables.transactions import CLOSED_APP, REMOVED_APP

_LAST: Final = """
SELECT max(batch) AS last FROM ledger WHERE batch < (
  SELECT coalesce(min(batch), {never}) FROM ledger WHERE committed_at > {younger} OR max_event_time >= {waits}
)
"""


def removed(table: DeltaTable) -> int:
    """Returns how far rows of a table were removed by age: the end of a window in milliseconds, or a batch; 0: none."""
    return table.transaction_version(REMOVED_APP) or 0


def remove_by_age(
    warehouse: str, kept: Mapping[str, TableRetention], policy: Policy, trusted: int | None, batch: int, now: int
) -> None:
    """Removes what is older than is kept, as of a committed batch and the service's clock `now`, in milliseconds.

    The age of a window is measured by the `trusted` watermark, which no reset takes back. Raises Replaced if a newer
    service has begun.
    """
    if trusted is None:
        return
    ages = {name: keep.rows_ms for name, keep in kept.items() if keep.rows_ms is not None}
    for report in policy.reports:
        if report.name in ages:
            handle = Handle(result_of(report).uri(warehouse))
            until = min(trusted - ages[report.name], handle.last(CLOSED_APP))
            _remove(handle, f"{c.WINDOW_END} <= '{utc(until)}'", until, batch)
    if DEAD_LETTERS.name in ages:
        waits = lateness.waits_from(policy.reports, trusted)
        sql = _LAST.format(never=rules.NEVER, younger=now - ages[DEAD_LETTERS.name], waits=waits)
        last = rows_of(sql, ledger=DeltaTable(LEDGER.uri(warehouse)))[0]["last"] or 0
        _remove(Handle(DEAD_LETTERS.uri(warehouse)), f"{c.BATCH} <= {last}", last, batch)


def _remove(handle: Handle, where: str, until: int, batch: int) -> None:
    """Removes rows and records up to where, unless none has grown old since the last time."""
    while until > removed(handle.table):
        done = [Transaction(REMOVED_APP, until), handle.amending()]
        if handle.remove(where, by=batch, transactions=done):
            return
