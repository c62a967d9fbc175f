"""Count windows: each `size` events of a key that follow one another are a window."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable

from tidemark.pipeline.event_time.firing import CountsDue
from tidemark.pipeline.event_time.windows.base import Window
from tidemark.pipeline.event_time.windows.count import Counts
from tidemark.pipeline.results.levels import Run
from tidemark.pipeline.results.measure_sql import window_measures_sql
from tidemark.pipeline.results.result_kind import Merge, SourceTables, WindowKind, as_panes, keys_sql, partition_by_sql
from tidemark.pipeline.results.result_table import PublicationPlan, ResultChunk, panes_sql
from tidemark.pipeline.tables.engines import Engine
from tidemark.pipeline.tables.query import query
from tidemark.pipeline.tables.schemas import PANES
from tidemark.pipeline.tables.transactions import PUBLISHED_APP

_WINDOWED_SQL: Final = """numbered AS (
  SELECT parts.*, CAST(row_number() OVER ({by} ORDER BY batch, record_position) AS BIGINT) - 1 AS number_of_key
  FROM parts
), windowed AS (
  SELECT numbered.*, min(first_time) OVER ({window}) AS start_ms, max(last_time) OVER ({window}) + 1 AS end_ms,
    count(*) OVER ({window}) AS events_of_window
  FROM numbered
)"""
_FULL_SQL: Final = """
WITH parts AS ({parts}), {windowed}
SELECT {start} AS window_start, {end} AS window_end, {keys}{measures}
  sum(0) AS late_events, max(batch) AS published_batch
FROM windowed GROUP BY {keys}{number}
HAVING count(*) = {size} AND max(batch) > {after} AND max(batch) <= {until}
"""


class CountWindowKind(WindowKind[CountsDue]):
    """Windows that end with an event of their key and never change after that."""

    @abstractmethod
    def ended_sql(self, parts: str, after: int, until: int, engine: Engine) -> str:
        """Returns SQL of the windows that ended with an event after the batch `after`, and up to the batch `until`.

        `parts` is SQL of all rows of panes of some keys.
        """

    def plan(self, firing: CountsDue, batch: int, tables: SourceTables) -> PublicationPlan:
        """Plans the windows that ended since the last publication.

        They are one chunk, so they are appended in the commit that records the publication, and never twice.
        """
        # The table may have been published further than the state of this process says.
        after = max(firing.after_batch, tables.results.transaction_version(PUBLISHED_APP) or 0)

        def ended(engine: Engine, parts: str) -> str:
            return self.ended_sql(parts, after, batch, engine)

        def rows_from(parts: str) -> pa.Table:
            return self.result_rows(query(ended(Engine.DELTA_RS, parts), panes=tables.panes))

        files = self.files(tables.panes, batch)
        written = self.by_executors(files, partial(ended, parts=panes_sql(self.report, batch)))
        return PublicationPlan([ResultChunk(written or self.by_driver(files, batch, rows_from), None, is_last=True)])

    def is_closed_sql(self, closed_until: str) -> str:  # noqa: ARG002 - the signature of `WindowKind`
        """Returns true, because a published window never changes."""
        return "true"

    def touched_sql(self, windows: Sequence[Window]) -> str:  # noqa: ARG002 - the signature of `WindowKind`
        """Returns false, because no event is too late."""
        return "false"


class CountKind(CountWindowKind):
    """Windows of events that follow one another: each event is in one window."""

    _windows: Counts

    def ended_sql(self, parts: str, after: int, until: int, engine: Engine) -> str:
        """Returns SQL of the windows that became full."""
        return _FULL_SQL.format(
            parts=parts,
            windowed=self.open_windows_sql(),
            start=engine.time("min(first_time)"),
            end=engine.time("max(last_time) + 1"),
            keys=keys_sql(self.report),
            measures=window_measures_sql(self.report),
            number=self._first_event_sql,
            size=self._windows.size,
            after=after,
            until=until,
        )

    def merges(self, runs: Sequence[Run], panes: DeltaTable, final: int, cutoff: int) -> Iterator[Merge]:  # noqa: ARG002 - no time ends them
        """Yields the events of windows that are not full."""

        def unfinished_events(parts: str) -> pa.Table:
            columns = ", ".join(PANES.schema.names)
            windowed = self.open_windows_sql()
            sql = f"WITH parts AS ({parts}), {windowed} SELECT {columns} FROM windowed WHERE {self.is_open_sql}"  # noqa: S608 - ours
            return as_panes(query(sql, panes=panes))

        yield from self.rewrites(runs, panes, self.report, unfinished_events)

    @property
    def is_open_sql(self) -> str:
        """SQL condition: the window is not full."""
        return f"events_of_window < {self._windows.size}"

    def open_windows_sql(self) -> str:
        """Returns SQL of all windows, in the order of record positions."""
        keys = self.report.keys
        return _WINDOWED_SQL.format(by=partition_by_sql(*keys), window=partition_by_sql(*keys, self._first_event_sql))

    @property
    def _first_event_sql(self) -> str:
        """SQL of the position of a window's first event, instead of a quotient: engines divide in different ways."""
        return f"number_of_key - number_of_key % {self._windows.size}"
