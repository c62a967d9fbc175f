"""Count windows from single events: the first `size` of a key are a window, and the next, and so on."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable

from pipeline.event_time.firing import CountsDue
from pipeline.event_time.windows.count import Counts
from pipeline.results.levels import Run
from pipeline.results.measure_sql import of_window
from pipeline.results.result_kind import Merge, SourceTables, WindowKind, as_panes, keys_of, partition_by, rewrites
from pipeline.results.result_table import PublicationPlan, ResultChunk, committed
from pipeline.tables.engines import Engine
from pipeline.tables.query import query
from pipeline.tables.schemas import PANES
from pipeline.tables.transactions import WRITER_APP

_WINDOWED: Final = """numbered AS (
  SELECT parts.*, CAST(row_number() OVER ({by} ORDER BY batch, record_position) AS BIGINT) - 1 AS number_of_key
  FROM parts
), windowed AS (
  SELECT numbered.*, min(first_time) OVER ({window}) AS start_ms, max(last_time) OVER ({window}) + 1 AS end_ms,
    count(*) OVER ({window}) AS events
  FROM numbered
)"""
_FULL: Final = """
WITH parts AS ({parts}), {windowed}
SELECT {start} AS window_start, {end} AS window_end, {keys}{measures}
  sum(0) AS late_events, max(batch) AS published_batch
FROM windowed GROUP BY {keys}{number}
HAVING count(*) = {size} AND max(batch) > {after} AND max(batch) <= {until}
"""


class CountKind(WindowKind[CountsDue]):
    """Count windows."""

    _windows: Counts

    def plan(self, firing: CountsDue, batch: int, tables: SourceTables) -> PublicationPlan:
        """Plans the windows that became full since the last publication; a full window never changes.

        They are one portion, in the commit that records how far they are published: so none is appended twice.
        """
        # What the table records: where a publication failed on the way, more may be in it than was due.
        after = max(firing.after_batch, tables.results.transaction_version(WRITER_APP) or 0)

        def full(engine: Engine, parts: str) -> str:
            return _FULL.format(
                parts=parts,
                windowed=self.open_windows(),
                start=engine.time("min(first_time)"),
                end=engine.time("max(last_time) + 1"),
                keys=keys_of(self.report),
                measures=of_window(self.report),
                number=self._number,
                size=self._windows.size,
                after=after,
                until=batch,
            )

        def made(parts: str) -> pa.Table:
            return self.told(query(full(Engine.DELTA_RS, parts), panes=tables.panes))

        files = self.files(tables.panes, batch)
        written = self.by_executors(files, partial(full, parts=committed(self.name, batch)))
        return PublicationPlan([ResultChunk(written or self.by_driver(files, batch, made), None, is_last=True)])

    def merges(self, runs: Sequence[Run], panes: DeltaTable, final: int, cutoff: int) -> Iterator[Merge]:  # noqa: ARG002 - no time ends them
        """The events of windows that are not full."""

        def kept(parts: str) -> pa.Table:
            columns = ", ".join(PANES.schema.names)
            sql = f"WITH parts AS ({parts}), {self.open_windows()} SELECT {columns} FROM windowed WHERE {self.is_open}"  # noqa: S608 - ours
            return as_panes(query(sql, panes=panes))

        yield from rewrites(self.name, runs, panes, self.report.keys, kept)

    @property
    def is_open(self) -> str:
        """It is not full."""
        return f"events < {self._windows.size}"

    def is_closed(self, closed_until: str) -> str:  # noqa: ARG002 - as other kinds are asked
        """A full window never changes."""
        return "true"

    def open_windows(self) -> str:
        """Every window, by the record positions of its events."""
        keys = self.report.keys
        return _WINDOWED.format(by=partition_by(*keys), window=partition_by(*keys, self._number))

    def touched(self, spans: Sequence[tuple[int, int]]) -> str:  # noqa: ARG002 - as other kinds are asked
        """None: no event is ever too late."""
        return "false"

    @property
    def _number(self) -> str:
        """The number of a window is that of its first event, for engines divide in different ways."""
        return f"number_of_key - number_of_key % {self._windows.size}"
