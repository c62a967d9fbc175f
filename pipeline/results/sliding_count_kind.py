"""Sliding count windows: with every `slide`-th event of a key, its last `size` events are a window.

Events of windows that are still to come stay rows of `panes`. Compaction merges the earlier events of a key to one row,
so that the events of the key keep their numbers: this row has no record position, and comes first.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable

from tidemark.pipeline.event_time.windows.count import SlidingCounts
from tidemark.pipeline.measures import EVENTS_SQL
from tidemark.pipeline.results.count_kind import CountWindowKind
from tidemark.pipeline.results.levels import Run
from tidemark.pipeline.results.measure_sql import joined_parts_sql, with_merged_sketches
from tidemark.pipeline.results.result_kind import Merge, as_panes, keys_sql, keys_text_sql, partition_by_sql
from tidemark.pipeline.tables.engines import Engine
from tidemark.pipeline.tables.query import query

_NUMBERED_SQL: Final = """numbered AS (
  SELECT parts.*, CAST(sum({events}) OVER ({in_order} ROWS UNBOUNDED PRECEDING) AS BIGINT) AS number_of_key
  FROM parts
)"""
# Most keys have no new event, and for a row a window function takes far longer than a join. Different keys may have the
# same text: then events of one more key are read.
_ENDED_SQL: Final = """
WITH all_parts AS ({parts}), parts AS (
  SELECT * FROM all_parts WHERE {text} IN (SELECT {text} FROM all_parts WHERE batch > {after})
), {numbered}, windowed AS (
  SELECT {keys}{joined}batch, record_position, number_of_key FROM numbered
  WINDOW last_events AS ({in_order} ROWS BETWEEN {others} PRECEDING AND CURRENT ROW)
)
SELECT {start} AS window_start, {end} AS window_end, windowed.*, CAST(0 AS BIGINT) AS late_events,
  batch AS published_batch
FROM windowed
WHERE record_position IS NOT NULL AND number_of_key % {slide} = 0 AND batch > {after} AND batch <= {until}
"""
_PLACED_SQL: Final = """{numbered}, placed AS (
  SELECT numbered.*, max(number_of_key) OVER ({by}) AS events_of_key FROM numbered
)"""
_WINDOWED_SQL: Final = """{placed}, windowed AS (
  SELECT placed.*, min(first_time) OVER ({by}) AS start_ms, max(last_time) OVER ({by}) + 1 AS end_ms
  FROM placed WHERE {is_waiting}
)"""
_MERGED_SQL: Final = """
WITH parts AS ({parts}), {placed}
SELECT max(batch) AS batch, '{name}' AS report, max(pane_start) AS pane_start, {keys}{joined}
  sum(late_events) AS late_events, max(watermark) AS watermark, max(closed_until) AS closed_until,
  position AS record_position
FROM (
  SELECT placed.*, CASE WHEN {is_waiting} THEN batch END AS own_batch,
    CASE WHEN {is_waiting} THEN record_position END AS position
  FROM placed
) AS placed
GROUP BY {keys}own_batch, position
"""


class SlidingCountKind(CountWindowKind):
    """Windows of the last events: each event is in several windows."""

    _windows: SlidingCounts

    @property
    def is_open_sql(self) -> str:
        """Returns true: `open_windows_sql` has the events of open windows only."""
        return "true"

    def ended_sql(self, parts: str, after: int, until: int, engine: Engine) -> str:
        """Returns SQL of the windows that ended. Events that were merged are in none of them."""
        functions = {part.name: "array_agg" if part.join.is_sketch else part.join for part in self.report.parts}
        joined = (f"{function}({name}) OVER last_events AS {name}, " for name, function in functions.items())
        return _ENDED_SQL.format(
            parts=parts,
            numbered=self._numbered_sql,
            text=self._text_sql,
            keys=keys_sql(self.report),
            joined="".join(joined),
            in_order=self._in_order_sql,
            others=self._windows.size - 1,
            start=engine.time("first_time"),
            end=engine.time("last_time + 1"),
            slide=self._windows.slide,
            after=after,
            until=until,
        )

    def open_windows_sql(self) -> str:
        """Returns SQL of the next window of each key, with the events that it has already."""
        return _WINDOWED_SQL.format(placed=self._placed_sql, by=self._by_sql, is_waiting=self._is_waiting_sql)

    def merges(self, runs: Sequence[Run], panes: DeltaTable, final: int, cutoff: int) -> Iterator[Merge]:  # noqa: ARG002 - no time ends them
        """Yields the events of windows that are still to come, and a row for each key of all its earlier events."""

        def merged_events(parts: str) -> pa.Table:
            sql = _MERGED_SQL.format(
                parts=parts,
                placed=self._placed_sql,
                name=self.name,
                keys="".join(f"{self.report.stored(key)}, " for key in self.report.keys),
                joined=joined_parts_sql(self.report),
                is_waiting=self._is_waiting_sql,
            )
            return as_panes(with_merged_sketches(query(sql, panes=panes), self.report))

        yield from self.rewrites(runs, panes, self.report, merged_events)

    @property
    def _by_sql(self) -> str:
        return partition_by_sql(*self.report.keys)

    @property
    def _text_sql(self) -> str:
        """SQL: the keys of a row as one text, empty without keys."""
        return keys_text_sql(self.report.keys) if self.report.keys else "''"

    @property
    def _in_order_sql(self) -> str:
        """SQL of a window over the events of a key, in their order: with one order for all they are sorted once."""
        return f"{self._by_sql} ORDER BY batch, record_position NULLS FIRST"

    @property
    def _numbered_sql(self) -> str:
        """SQL: all rows of some keys with the number of their last event among the events of its key, from 1."""
        return _NUMBERED_SQL.format(events=EVENTS_SQL, in_order=self._in_order_sql)

    @property
    def _placed_sql(self) -> str:
        """SQL: numbered rows with the number of events of their key."""
        return _PLACED_SQL.format(numbered=self._numbered_sql, by=self._by_sql)

    @property
    def _is_waiting_sql(self) -> str:
        """SQL condition: the row is an event of a window that has not ended. The next window ends at a multiple."""
        size, slide = self._windows.size, self._windows.slide
        next_end = f"events_of_key - events_of_key % {slide} + {slide}"
        return f"record_position IS NOT NULL AND number_of_key > {next_end} - {size}"
