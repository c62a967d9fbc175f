"""Count windows from single events: the first `size` of a key are a window, and the next, and so on."""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable

from pipeline.event_time.firing import Firing
from pipeline.event_time.windows.count import Counts
from pipeline.tables.engines import Engine
from pipeline.tables.query import query
from pipeline.tables.results.kind import Merge, WindowKind, as_panes, keys_of, partition_by, rewrites
from pipeline.tables.results.levels import Run
from pipeline.tables.results.measures import of_window
from pipeline.tables.results.result_table import Portion, committed

# The number of a window is that of its first event, for engines divide in different ways.
_NUMBERED: Final = """placed AS (
  SELECT parts.*, CAST(row_number() OVER ({by} ORDER BY batch, record_position) AS BIGINT) - 1 AS place FROM parts
), numbered AS (
  SELECT placed.*, place - place % {size} AS number FROM placed
)"""
_WINDOWED: Final = """{numbered}, windowed AS (
  SELECT numbered.*, min(first_time) OVER ({window}) AS start_ms, max(last_time) OVER ({window}) + 1 AS end_ms,
    count(*) OVER ({window}) AS events
  FROM numbered
)"""
_FULL: Final = """
WITH parts AS ({parts}), {numbered}
SELECT {start} AS window_start, {end} AS window_end, {keys}{measures}
  sum(0) AS late_events, max(batch) AS published_batch
FROM numbered GROUP BY {keys}number
HAVING count(*) = {size} AND max(batch) > {after} AND max(batch) <= {until}
"""


class CountKind(WindowKind):
    """Count windows."""

    _windows: Counts

    def portions(self, firing: Firing, batch: int, panes: DeltaTable, published: int) -> Iterator[Portion]:
        """The windows that became full since the last publication; a full window never changes."""
        assert firing.span is not None  # noqa: S101 - what is due of count windows has a span
        # What the table says: where a publication failed on the way, more may be there than was due.
        after = max(firing.span[0], published)

        def full(engine: Engine) -> str:
            told = {"keys": keys_of(self.report), "measures": of_window(self.report), "size": self._windows.size}
            times = {"start": engine.time("min(first_time)"), "end": engine.time("max(last_time) + 1")}
            parts, numbered = committed(self.name, batch), self._numbered()
            return _FULL.format(**told, **times, parts=parts, numbered=numbered, after=after, until=batch)

        found = self.by_executors(panes, batch, full)
        yield found or self.told(query(full(Engine.DELTA_RS), panes=panes)), None

    def merges(self, runs: Sequence[Run], panes: DeltaTable, final: int, cutoff: int) -> Iterator[Merge]:  # noqa: ARG002 - no time ends them
        """The events of windows that are not full."""

        def kept(batch: int) -> pa.Table:
            parts, windowed = committed(self.name, batch), self.open_windows()
            sql = f"WITH parts AS ({parts}), {windowed} SELECT * FROM windowed WHERE {self.is_open}"  # noqa: S608 - ours
            return as_panes(query(sql, panes=panes))

        yield from rewrites(self.name, runs, panes, kept)

    @property
    def is_open(self) -> str:
        """It is not full."""
        return f"events < {self._windows.size}"

    def is_closed(self, closed_until: str) -> str:  # noqa: ARG002 - as other kinds are asked
        """A full window never changes."""
        return "true"

    def open_windows(self) -> str:
        """Every window, by the record positions of its events."""
        return _WINDOWED.format(numbered=self._numbered(), window=partition_by(*self.report.keys, "number"))

    def touched(self, spans: Sequence[tuple[int, int]]) -> str:  # noqa: ARG002 - as other kinds are asked
        """None: no event is ever too late."""
        return "false"

    def _numbered(self) -> str:
        """The parts, each with the number of its window."""
        return _NUMBERED.format(by=partition_by(*self.report.keys), size=self._windows.size)
