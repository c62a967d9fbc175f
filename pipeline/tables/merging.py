"""What runs of `panes` become when they are merged, by the kind of windows."""

from typing import Final

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from pipeline.frames import columns as c
from pipeline.sketches import merged as merged_sketches
from pipeline.tables.count_results import CountResults
from pipeline.tables.islands import panes_of
from pipeline.tables.results import values
from pipeline.tables.schemas import PANES
from pipeline.tables.session_results import SessionResults
from pipeline.tables.total_results import TotalResults
from pipeline.time import lateness, rules
from pipeline.time.counts import Counts
from pipeline.time.lateness import Sql
from pipeline.time.report import Periodic, Report
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
  CASE WHEN {had_fired} THEN watermark ELSE {never} END,
  CASE WHEN {had_fired} THEN closed_until ELSE {never} END
"""


def as_they_are(parts: str, panes: DeltaTable) -> pa.Table:
    """The rows of an SQL statement over `panes`, in one piece."""
    return _panes(QueryBuilder().register(PANES.name, panes).execute(parts))


def merged(parts: str, report: Report, windows: Periodic, panes: DeltaTable) -> pa.Table:
    """A row for each pane and key, and for each batch that came when a window of the pane had fired."""
    query = QueryBuilder().register(PANES.name, panes)
    found = pa.table(query.execute(f"SELECT DISTINCT {c.PANE_START} FROM ({parts}) AS parts"))  # noqa: S608 - our own
    starts = found[c.PANE_START].to_pylist()
    if not starts:
        return PANES.schema.empty_table()
    firsts = values((pane, min(windows.ends(windows.pane_start(pane)))) for pane in starts)
    users = f"{'array_agg(users)' if report.keeps_sketches else 'NULL'} AS users,"
    had_fired = lateness.has_fired(Sql("first_end"), Sql(c.WATERMARK))
    sql = _SQL.format(parts=parts, firsts=firsts, had_fired=had_fired, never=rules.NO_WATERMARK, users=users)
    rows = pa.table(query.execute(sql))
    if report.keeps_sketches:
        sketches = pa.array(map(merged_sketches, rows[c.USERS].to_pylist()), pa.binary())
        rows = rows.set_column(rows.column_names.index(c.USERS), c.USERS, sketches)
    return _panes(rows)


def settled(report: Report, batch: int, panes: DeltaTable, warehouse: str, final: int, cutoff: int) -> pa.Table:
    """What can still change, of all that was committed up to `batch` for a report whose windows no clock tells.

    What ends no later than `final` is published for the last time; events before `cutoff` are too late for all reports.
    """
    windows = report.windows
    if isinstance(windows, Counts):
        return CountResults(report, windows).waiting(batch, panes)
    if isinstance(windows, Totals):
        return TotalResults(warehouse, report, windows).compacted(batch, panes, cutoff)
    assert isinstance(windows, Sessions)  # noqa: S101 - for the type checker
    return panes_of(SessionResults(report, windows).sessions(batch, panes, after=final), report.name)


def _panes(rows: object) -> pa.Table:
    return pa.table(rows).select(PANES.schema.names).cast(PANES.schema)
