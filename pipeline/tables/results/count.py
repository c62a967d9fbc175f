"""Count windows from single events: the first `size` of a key are a window, and the next, and so on."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable

from pipeline.event_time.firing import Firing
from pipeline.event_time.report import Report
from pipeline.event_time.windows.count import Counts
from pipeline.tables.engines import Engine
from pipeline.tables.large import NOTHING, Large
from pipeline.tables.query import Row, query
from pipeline.tables.results.kind import Merge, WindowKind, as_panes, keys_of, partition_by, rewrites
from pipeline.tables.results.levels import Run
from pipeline.tables.results.measures import of_window
from pipeline.tables.results.result_table import Portion, committed
from pipeline.tables.schemas import PANES

_NUMBERED: Final = """
WITH numbered AS (
  SELECT panes.*, {number} AS number
  FROM ({parts}) AS panes
)
"""
_FULL: Final = """
SELECT {start} AS window_start, {end} AS window_end, {keys}{measures}
  sum(0) AS late_events, max(batch) AS published_batch
FROM numbered GROUP BY {keys}number
HAVING count(*) = {size} AND max(batch) > {after} AND max(batch) <= {until}
"""
_WAITING: Final = """
SELECT {columns} FROM (SELECT *, count(*) OVER ({window}) AS have FROM numbered) WHERE have < {size}
"""
# The number of a window is that of its first event, for engines divide in different ways.
_WINDOWED: Final = """numbered AS (
  SELECT parts.*, row_number() OVER ({by} ORDER BY batch, record_position) - 1 AS number_of_key FROM parts
), windowed AS (
  SELECT numbered.*, min(first_time) OVER ({window}) AS start_ms, max(last_time) OVER ({window}) + 1 AS end_ms,
    count(*) OVER ({window}) AS events
  FROM numbered
)"""


class CountKind(WindowKind):
    """Count windows."""

    def __init__(self, report: Report, windows: Counts, large: Large = NOTHING) -> None:
        super().__init__(report, large)
        self._size = windows.size

    def portions(self, firing: Firing, batch: int, panes: DeltaTable, published: int) -> Iterator[Portion]:
        """The windows that became full since the last publication; a full window never changes."""
        assert firing.span is not None  # noqa: S101 - what is due of count windows has a span
        # What the table says: where a publication failed on the way, more may be there than was due.
        after = max(firing.span[0], published)

        def full(engine: Engine) -> str:
            told = {"keys": keys_of(self.report), "measures": of_window(self.report), "size": self._size}
            times = {"start": engine.time("min(first_time)"), "end": engine.time("max(last_time) + 1")}
            return self._numbered(batch, engine) + _FULL.format(**told, **times, after=after, until=batch)

        found = self.by_executors(panes, batch, full)
        yield found or self.told(query(full(Engine.DELTA_RS), panes=panes)), None

    def merges(self, runs: Sequence[Run], panes: DeltaTable, final: int, cutoff: int) -> Iterator[Merge]:  # noqa: ARG002 - no time ends them
        """The events of windows that are not full."""
        window, columns = partition_by(*self.report.keys, "number"), ", ".join(PANES.schema.names)
        sql = _WAITING.format(columns=columns, window=window, size=self._size)

        def kept(batch: int) -> pa.Table:
            return as_panes(query(self._numbered(batch, Engine.DELTA_RS) + sql, panes=panes))

        yield from rewrites(self.name, runs, panes, kept)

    @property
    def is_open(self) -> str:
        """It is not full."""
        return f"events < {self._size}"

    def is_closed(self, closed_until: str) -> str:  # noqa: ARG002 - as other kinds are asked
        """A full window never changes."""
        return "true"

    def open_windows(self) -> str:
        """Every window, by the record positions of its events."""
        first = f"number_of_key - number_of_key % {self._size}"
        return _WINDOWED.format(by=partition_by(*self.report.keys), window=partition_by(*self.report.keys, first))

    def touched(self, spans: Sequence[tuple[int, int]]) -> str:  # noqa: ARG002 - as other kinds are asked
        """None: no event is ever too late."""
        return "false"

    def corrected(self, shown: Iterable[Row], rows: Iterable[Row]) -> list[Row]:  # noqa: ARG002 - as other kinds are asked
        """As they are."""
        return list(shown)

    def _numbered(self, batch: int, engine: Engine) -> str:
        """The panes up to a batch, each with the number of its window."""
        by = partition_by(*self.report.keys)
        position = f"CAST(row_number() OVER ({by} ORDER BY batch, record_position) AS BIGINT) - 1"
        number = engine.divided(position, self._size)
        return _NUMBERED.format(number=number, parts=committed(self.name, batch))
