"""Compaction: what panes hold of closed windows goes, and the rest becomes one row for each pane and key.

A day's window at a batch a second would else be read from 86,400 rows of each user.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, Transaction

from pipeline.frames import columns as c
from pipeline.sketches import merged
from pipeline.tables.count_results import CountResults
from pipeline.tables.islands import panes_of
from pipeline.tables.ledger import EPOCH
from pipeline.tables.results import committed, values
from pipeline.tables.schemas import PANES, WRITER_APP
from pipeline.tables.session_results import SessionResults
from pipeline.tables.swap import swap
from pipeline.tables.total_results import TotalResults
from pipeline.time import rules
from pipeline.time.counts import Counts
from pipeline.time.report import Periodic, Report, cutoffs
from pipeline.time.sessions import Sessions
from pipeline.time.totals import Totals

# Rows that no window takes for late are all the same; of the others each batch's watermark decides.
_SQL: Final = """
SELECT report, pane_start, user_id, page_url, event_type, max(batch) AS batch, sum(page_views) AS page_views, {users}
  sum(clicks) AS clicks, sum(late_events) AS late_events, min(watermark) AS watermark,
  min(closed_until) AS closed_until,
  min(first_time) AS first_time, max(last_time) AS last_time, max(place) AS place, max(sessions) AS sessions,
  max(window_start_ms) AS window_start_ms, max(window_end_ms) AS window_end_ms
FROM ({parts}) AS parts JOIN (VALUES {firsts}) AS firsts (pane, first_end) ON pane_start = pane
GROUP BY report, pane_start, user_id, page_url, event_type,
  CASE WHEN watermark < first_end THEN {never} ELSE watermark END
"""


class Compaction:
    """One writer's view of `panes`; what it rewrites is refused once a newer service has begun."""

    def __init__(self, warehouse: str, reports: Sequence[Report]) -> None:
        self._warehouse = warehouse
        self._table = DeltaTable(PANES.uri(warehouse))
        self._reports = reports

    def fence(self, batch: int) -> None:
        """From here on an older process compacts no more: it would bring back rows that are part of others by now."""
        while not swap(self._table, PANES.schema.empty_table(), None, Transaction(WRITER_APP, batch)):
            pass

    def __call__(self, last_batches: Mapping[int, int], batch: int, watermark: int | None) -> None:
        """Rewrites what was committed up to `batch`, whose watermark is given and which is published.

        `last_batches` maps each epoch to its last committed batch.
        """
        self._table.update_incremental()
        found = [self._rows(report, last_batches, watermark) for report in self._reports]
        rows = pa.concat_tables(found)
        while not self._is_replaced(batch):
            if swap(self._table, rows, f"{c.BATCH} <= {batch}", Transaction(WRITER_APP, batch)):
                return

    def _is_replaced(self, batch: int) -> bool:
        return (self._table.transaction_version(WRITER_APP) or 0) // EPOCH > batch // EPOCH

    def _rows(self, report: Report, last_batches: Mapping[int, int], watermark: int | None) -> pa.Table:
        if isinstance(report.windows, Counts):
            return CountResults(report, report.windows).waiting(last_batches, self._table)
        if isinstance(report.windows, Totals):
            settled, _ = cutoffs(self._reports, watermark)
            totals = TotalResults(self._warehouse, report, report.windows)
            return totals.compacted(last_batches, self._table, settled)
        if isinstance(report.windows, Sessions):
            return _live(SessionResults(report, report.windows), report, last_batches, self._table, watermark)
        # Whether a session began in a window is told by the panes before it.
        first = report.cutoff(watermark) - report.session_gap_ms
        parts = committed(report, last_batches, f"{c.PANE_START} >= {first}")
        return _merged(parts, report, report.windows, QueryBuilder().register(PANES.name, self._table))


def _merged(parts: str, report: Report, windows: Periodic, query: QueryBuilder) -> pa.Table:
    """A row for each pane and key, and for each batch that came when a window of the pane had fired."""
    found = pa.table(query.execute(f"SELECT DISTINCT {c.PANE_START} FROM ({parts}) AS parts"))  # noqa: S608 - our own
    panes = found[c.PANE_START].to_pylist()
    if not panes:
        return PANES.schema.empty_table()
    firsts = values((pane, min(windows.ends(windows.pane_start(pane)))) for pane in panes)
    users = f"{'array_agg(users)' if report.keeps_sketches else 'NULL'} AS users,"
    rows = pa.table(query.execute(_SQL.format(parts=parts, firsts=firsts, never=rules.NO_WATERMARK, users=users)))
    if report.keeps_sketches:
        sketches = pa.array(map(merged, rows[c.USERS].to_pylist()), pa.binary())
        rows = rows.set_column(rows.column_names.index(c.USERS), c.USERS, sketches)
    return rows.select(PANES.schema.names).cast(PANES.schema)


def _live(
    results: SessionResults,
    report: Report,
    last_batches: Mapping[int, int],
    panes: DeltaTable,
    watermark: int | None,
) -> pa.Table:
    """A row for each session that is not closed."""
    frontier = rules.NO_WATERMARK if watermark is None else watermark
    live = results.sessions(last_batches, panes, after=frontier - report.allowed_lateness_ms)
    return panes_of(live, report.name)
