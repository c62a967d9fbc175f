"""Publication: a report's windows that are due become what their committed panes add up to.

Panes are small, so they are added up where they are committed, by delta-rs and its query engine: thirty times less work
than a Spark job and a commit of Spark's for each batch.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from pipeline.frames import columns as c
from pipeline.sketches import estimate, merged, sketch_of
from pipeline.tables.count_results import CountResults
from pipeline.tables.results import Portion, Results, committed, utc, values
from pipeline.tables.schemas import PANES, result_of
from pipeline.tables.session_results import SessionResults
from pipeline.tables.total_results import TotalResults
from pipeline.time import lateness, rules
from pipeline.time.counts import Counts
from pipeline.time.lateness import Sql
from pipeline.time.report import Periodic, Report
from pipeline.time.totals import Totals
from pipeline.time.windows import Due

_SQL: Final = """
WITH placed AS (
  SELECT parts.*, window_start, window_end, fired_by
  FROM ({parts}) AS parts
  JOIN (VALUES {due}) AS due (pane, window_start, window_end, fired_by)
    ON pane_start = pane AND NOT ({was_closed})
)
SELECT
  to_timestamp_micros(window_start * 1000) AS window_start,
  to_timestamp_micros(window_end * 1000) AS window_end,
  {keys}
  sum(page_views) AS page_views,
  sum(clicks) AS clicks,
  {measures}
  sum(CASE WHEN {had_fired} THEN page_views + clicks ELSE 0 END) AS late_events,
  max(greatest(batch, fired_by)) AS published_batch
FROM {placed} WHERE pane_start >= window_start
GROUP BY {keys} window_start, window_end
"""
_END: Final = Sql(c.WINDOW_END)
_MANY_PANES: Final = 4096
"""A statement names the panes of so many windows; one that named all of a backlog of long windows took seconds."""
_MANY_ROWS: Final = 1_000_000
"""Of which a commit is made before more are added up."""
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

    def portions(self, due: Due, batch: int, panes: DeltaTable, published: int) -> Iterator[Portion]:
        """Rows of the result, and which rows of the table they replace; None for none.

        Of panes those up to `batch` count, which is committed. `published` is the batch up to which the table is.
        """


class Publication:
    """One writer's view of every result table."""

    def __init__(self, warehouse: str, reports: Iterable[Report]) -> None:
        self._panes = DeltaTable(PANES.uri(warehouse))
        self._results = {report.name: Results(warehouse, report) for report in reports}
        self._kinds = {report.name: _kind(warehouse, report) for report in reports}
        self._failed = set[str]()

    def publish(self, dues: Mapping[str, Due], batch: int) -> None:
        """Publishes each report's windows, a pure function of panes: doing it twice is harmless.

        In one commit, or in several where they are large: only the last one says that all of it is there. Windows
        that fire for the first time are appended, with any other among them all are replaced. Raises Replaced if a
        newer service has published.
        """
        self._panes.update_incremental()
        for name, due in dues.items():
            # Of what failed on the way some may be there.
            wanted = due.as_again() if name in self._failed else due
            self._failed.add(name)
            self._put(name, wanted, batch)
            self._failed.remove(name)

    def _put(self, name: str, due: Due, batch: int) -> None:
        results = self._results[name]
        if results.published.batch >= batch:  # another report's failure had all of this batch's tried again
            return
        portions = self._kinds[name].portions(due, batch, self._panes, results.published.batch)
        last = next(portions)
        for portion in portions:
            results.put(*last, batch)
            last = portion
        results.finish(*last, batch, due.closed_until)

    def fence(self, names: Iterable[str], batch: int) -> None:
        """An empty publication of these reports, after which older processes can publish them no more."""
        for name in names:
            self._results[name].fence(batch)


class WindowResults:
    """The windows of a report whose ends the clock tells."""

    def __init__(self, report: Report, windows: Periodic) -> None:
        self._report = report
        self._windows = windows

    def portions(self, due: Due, batch: int, panes: DeltaTable, published: int) -> Iterator[Portion]:  # noqa: ARG002 - what is due says it
        """Rows of the result, and which they replace; of a long backlog of overlapping windows a part at a time."""
        query = QueryBuilder().register(PANES.name, panes)
        found, ends = [result_of(self._report).schema.empty_table()], list[int]()
        for some in self._chunks(sorted(due.fired | due.again)):
            if sum(map(len, found)) > _MANY_ROWS:
                yield pa.concat_tables(found), _where(ends, due)
                found, ends = [], []
            ends += some
            found.append(self._rows(some, due, batch, query))
        yield pa.concat_tables(found), _where(ends, due)

    def _rows(self, ends: Sequence[int], due: Due, batch: int, query: QueryBuilder) -> pa.Table:
        schema = result_of(self._report).schema
        return self._with_users(pa.table(query.execute(self._sql(ends, due, batch)))).select(schema.names).cast(schema)

    def _chunks(self, ends: Sequence[int]) -> Iterator[Sequence[int]]:
        """Ends of windows, as many at a time as one statement may name with all their panes."""
        size = max(1, _MANY_PANES // len(self._panes_of(ends[0]))) if ends else 1
        return (ends[place : place + size] for place in range(0, len(ends), size))

    def _panes_of(self, end: int) -> range:
        return range(self._windows.begin(end) - self._report.session_gap_ms, end, self._report.pane_ms)

    def _with_users(self, rows: pa.Table) -> pa.Table:
        if c.UNIQUE_USERS not in self._report.measures:
            return rows
        join = merged if self._report.keeps_sketches else sketch_of
        sketches = [join(users) for users in rows[c.USERS].to_pylist()]
        rows = rows.append_column(c.UNIQUE_USERS, pa.array(map(estimate, sketches), pa.int64()))
        return rows.append_column(c.USERS_SKETCH, pa.array(sketches, pa.binary()))

    def _sql(self, ends: Sequence[int], due: Due, batch: int) -> str:
        report = self._report
        panes = [
            (pane, self._windows.begin(end), end, due.fired_by[end]) for end in ends for pane in self._panes_of(end)
        ]
        keys = "".join(f"{key}, " for key in report.keys)
        reached = _REACHED.format(keys=keys, gap_ms=report.session_gap_ms, never=rules.NO_WATERMARK)
        return _SQL.format(
            due=values(panes),
            parts=committed(report, batch, f"{c.PANE_START} BETWEEN {min(panes)[0]} AND {max(panes)[0]}"),
            was_closed=lateness.is_closed(_END, Sql(c.CLOSED_UNTIL)),
            had_fired=lateness.has_fired(_END, Sql(c.WATERMARK)),
            keys=keys,
            measures=self._measures(),
            placed=reached if report.session_gap_ms else "placed",
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


def _where(ends: Sequence[int], due: Due) -> str | None:
    """Which rows these windows replace; none, where all of them fire for the first time."""
    if not due.again.intersection(ends):
        return None
    return f"{c.WINDOW_END} IN ({', '.join(repr(utc(end)) for end in ends)})"
