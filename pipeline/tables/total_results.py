"""Totals per user: what its settled sessions add up to, and the sessions that an event may still join.

A session is settled when no event that is not too late can join it; compaction then keeps only how many there were. So
a correction adds to a user's counts and not to the sessions, of which it can no longer be told which ones it meets.
"""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from pipeline.frames import columns as c
from pipeline.tables.results import committed
from pipeline.tables.schemas import CORRECTIONS, PANES
from pipeline.time.report import Report
from pipeline.time.totals import Totals
from pipeline.time.windows import Due

_NUMBERED: Final = """
WITH parts AS ({parts}), placed AS (
  SELECT *, max(last_time) OVER (
    PARTITION BY user_id ORDER BY first_time, last_time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  ) + {gap_ms} AS reach FROM parts WHERE sessions IS NULL
), numbered AS (
  SELECT *, sum(CASE WHEN first_time <= reach THEN 0 ELSE 1 END) OVER (
    PARTITION BY user_id ORDER BY first_time, last_time ROWS UNBOUNDED PRECEDING
  ) AS number FROM placed
), kept AS (
  SELECT user_id, min(first_time) AS first_time, max(last_time) AS last_time, sum(page_views) AS page_views,
    sum(clicks) AS clicks, max(batch) AS batch, 1 AS sessions, max(last_time) + {gap_ms} < {settled} AS is_settled
  FROM numbered GROUP BY user_id, number
  UNION ALL
  SELECT user_id, first_time, last_time, page_views, clicks, batch, sessions, true FROM parts
  WHERE sessions IS NOT NULL
)
"""
_TOTALS: Final = """
, summed AS (
  SELECT user_id, first_time, last_time, sessions, page_views, clicks, batch FROM kept {corrected}
)
SELECT user_id, to_timestamp_micros(min(first_time) * 1000) AS first_seen,
  to_timestamp_micros(max(last_time) * 1000) AS last_seen, greatest(sum(sessions), 1) AS sessions,
  sum(page_views) AS page_views, sum(clicks) AS clicks, max(batch) AS published_batch
FROM summed GROUP BY user_id
"""
_CORRECTED: Final = """
  UNION ALL
  SELECT user_id, event_time AS first_time, event_time AS last_time, 0, page_views, clicks, 0 FROM corrections
  WHERE report = '{report}'
"""
# A start publishes again when the watermark passes the newest event.
_PANES: Final = """
SELECT max(batch) AS batch, '{report}' AS report, max(last_time) AS pane_start, user_id,
  sum(page_views) AS page_views, sum(clicks) AS clicks, 0 AS late_events, min(first_time) AS first_time,
  max(last_time) AS last_time, CASE WHEN is_settled THEN sum(sessions) END AS sessions
FROM kept GROUP BY user_id, is_settled, CASE WHEN is_settled THEN 0 ELSE first_time END
"""


class TotalResults:
    """The totals of a report."""

    def __init__(self, warehouse: str, report: Report, windows: Totals) -> None:
        self._corrections = CORRECTIONS.uri(warehouse)
        self._report = report
        self._gap_ms = windows.gap_ms

    def rows(self, due: Due, last_batches: Mapping[int, int], panes: DeltaTable) -> tuple[pa.Table, str | None]:  # noqa: ARG002 - all of it is due
        """The totals of every user, with what was corrected, in the place of the whole table."""
        query, corrected = QueryBuilder().register(PANES.name, panes), ""
        if DeltaTable.is_deltatable(self._corrections):
            query = query.register(CORRECTIONS.name, DeltaTable(self._corrections))
            corrected = _CORRECTED.format(report=self._report.name)
        found = self._ask(_TOTALS.format(corrected=corrected), last_batches, query, settled=0)
        return found, f"{c.USER_ID} IS NOT NULL"

    def compacted(self, last_batches: Mapping[int, int], panes: DeltaTable, settled: int) -> pa.Table:
        """Rows of `panes`: one per user for what is settled, that is, ended before `settled`; one per other session."""
        query = QueryBuilder().register(PANES.name, panes)
        found = self._ask(_PANES.format(report=self._report.name), last_batches, query, settled)
        nothing = {name: pa.nulls(len(found)) for name in PANES.schema.names if name not in found.column_names}
        whole = pa.table({**{name: found[name] for name in found.column_names}, **nothing})
        return whole.select(PANES.schema.names).cast(PANES.schema)

    def _ask(self, select: str, last_batches: Mapping[int, int], query: QueryBuilder, settled: int) -> pa.Table:
        kept = _NUMBERED.format(
            parts=committed(self._report, last_batches),
            gap_ms=self._gap_ms,
            settled=settled,
        )
        return pa.table(query.execute(kept + select))
