"""Publication: a report's windows that are due become what their committed panes add up to.

Panes are small, so they are added up where they are committed, by delta-rs and its query engine: thirty times less work
than a Spark job and a commit of Spark's for each batch.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Protocol

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from pipeline.frames import columns as c
from pipeline.sketches import estimate, merged, sketch_of
from pipeline.tables.count_results import CountResults
from pipeline.tables.results import Results, committed, utc, values
from pipeline.tables.schemas import PANES, result_of
from pipeline.tables.session_results import SessionResults
from pipeline.tables.total_results import TotalResults
from pipeline.time import rules
from pipeline.time.counts import Counts
from pipeline.time.report import Periodic, Report
from pipeline.time.totals import Totals
from pipeline.time.windows import Due

_SQL: Final = """
WITH placed AS (
  SELECT parts.*, window_start, window_end, fired_by
  FROM ({parts}) AS parts
  JOIN (VALUES {due}) AS due (pane, window_start, window_end, fired_by)
    ON pane_start = pane AND watermark < window_end + {allowed_lateness_ms}
)
SELECT
  to_timestamp_micros(window_start * 1000) AS window_start,
  to_timestamp_micros(window_end * 1000) AS window_end,
  {keys}
  sum(page_views) AS page_views,
  sum(clicks) AS clicks,
  {measures}
  sum(CASE WHEN watermark >= window_end THEN page_views + clicks ELSE 0 END) AS late_events,
  max(greatest(batch, fired_by)) AS published_batch
FROM {placed} WHERE pane_start >= window_start
GROUP BY {keys} window_start, window_end
"""
_USERS: Final = "array_agg({}) AS users,"
_SESSIONS_BEGUN: Final = "sum(CASE WHEN first_time > reach THEN 1 ELSE 0 END) AS sessions_begun,"
# Also from panes before the window, for a session may have begun in them.
_REACHED: Final = """(
  SELECT placed.*, coalesce(max(last_time) OVER (
    PARTITION BY window_end, user_id ORDER BY first_time, {keys} last_time
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  ) + {gap_ms}, {never}) AS reach FROM placed
)"""


class Parted(Protocol):
    """What adds up the panes of one kind of windows."""

    def rows(self, due: Due, last_batches: Mapping[int, int], panes: DeltaTable) -> tuple[pa.Table, str | None]:
        """Rows of the result, and which rows of the table they replace; None for none.

        `last_batches` maps each epoch to its last committed batch: panes of a later one are void.
        """


class Publication:
    """One writer's view of every result table."""

    def __init__(self, warehouse: str, reports: Iterable[Report]) -> None:
        self._panes = DeltaTable(PANES.uri(warehouse))
        self._results = {report.name: Results(warehouse, report) for report in reports}
        self._kinds = {report.name: _kind(warehouse, report) for report in reports}

    def publish(self, dues: Mapping[str, Due], last_batches: Mapping[int, int], batch: int) -> None:
        """Publishes each report's windows in one commit, a pure function of panes: doing it twice is harmless.

        Windows that fire for the first time are appended, with any other among them all are replaced. Raises Replaced
        if a newer service has published.
        """
        self._panes.update_incremental()
        for name, due in dues.items():
            rows, where = self._kinds[name].rows(due, last_batches, self._panes)
            self._results[name].put(rows, where, batch)

    def fence(self, names: Iterable[str], batch: int) -> None:
        """An empty publication of these reports, after which older processes can publish them no more."""
        for name in names:
            self._results[name].fence(batch)


class WindowResults:
    """The windows of a report whose ends the clock tells."""

    def __init__(self, report: Report, windows: Periodic) -> None:
        self._report = report
        self._windows = windows

    def rows(self, due: Due, last_batches: Mapping[int, int], panes: DeltaTable) -> tuple[pa.Table, str | None]:
        """Rows of the result, and which they replace."""
        if not due.fired | due.again:
            return result_of(self._report).schema.empty_table(), None
        sql = self._sql(due, last_batches)
        found = pa.table(QueryBuilder().register(PANES.name, panes).execute(sql))
        return self._with_users(found), _where(due) if due.again else None

    def _with_users(self, rows: pa.Table) -> pa.Table:
        if c.UNIQUE_USERS not in self._report.measures:
            return rows
        join = merged if self._report.keeps_sketches else sketch_of
        sketches = [join(users) for users in rows[c.USERS].to_pylist()]
        rows = rows.append_column(c.UNIQUE_USERS, pa.array(map(estimate, sketches), pa.int64()))
        return rows.append_column(c.USERS_SKETCH, pa.array(sketches, pa.binary()))

    def _sql(self, due: Due, last_batches: Mapping[int, int]) -> str:
        report = self._report
        windows = [(self._windows.begin(end), end) for end in due.fired | due.again]
        panes = [
            (pane, start, end, due.fired_by[end])
            for start, end in windows
            for pane in range(start - report.session_gap_ms, end, report.pane_ms)
        ]
        keys = "".join(f"{key}, " for key in report.keys)
        reached = _REACHED.format(keys=keys, gap_ms=report.session_gap_ms, never=rules.NO_WATERMARK)
        return _SQL.format(
            due=values(panes),
            parts=committed(report, last_batches, f"{c.PANE_START} BETWEEN {min(panes)[0]} AND {max(panes)[0]}"),
            keys=keys,
            measures=self._measures(),
            placed=reached if report.session_gap_ms else "placed",
            allowed_lateness_ms=report.allowed_lateness_ms,
        )

    def _measures(self) -> str:
        users = c.USERS if self._report.keeps_sketches else "DISTINCT user_id"
        further = {c.UNIQUE_USERS: _USERS.format(users), c.SESSIONS_BEGUN: _SESSIONS_BEGUN}
        return " ".join(sql for measure, sql in further.items() if measure in self._report.measures)


def _kind(warehouse: str, report: Report) -> Parted:
    windows = report.windows
    if isinstance(windows, Periodic):
        return WindowResults(report, windows)
    if isinstance(windows, Totals):
        return TotalResults(warehouse, report, windows)
    return CountResults(report, windows) if isinstance(windows, Counts) else SessionResults(report, windows)


def _where(due: Due) -> str:
    ends = ", ".join(f"'{utc(end)}'" for end in sorted(due.fired | due.again))
    return f"{c.WINDOW_END} IN ({ends})"
