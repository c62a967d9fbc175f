"""Count windows from single events: the first `size` of a key are a window, and the next, and so on."""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from pipeline.tables.results import Portion, committed
from pipeline.tables.schemas import PANES
from pipeline.time.counts import Counts
from pipeline.time.report import Report
from pipeline.time.windows import Due

_NUMBERED: Final = """
WITH numbered AS (
  SELECT panes.*, (CAST(row_number() OVER ({by}ORDER BY batch, place) AS BIGINT) - 1) / {size} AS number
  FROM ({parts}) AS panes
)
"""
_FULL: Final = """
SELECT to_timestamp_micros(min(first_time) * 1000) AS window_start,
  to_timestamp_micros((max(last_time) + 1) * 1000) AS window_end, {keys}
  sum(page_views) AS page_views, sum(clicks) AS clicks, sum(0) AS late_events, max(batch) AS published_batch
FROM numbered GROUP BY {keys}number
HAVING count(*) = {size} AND max(batch) > {after} AND max(batch) <= {until}
"""
_WAITING: Final = """
SELECT {columns} FROM (SELECT *, count(*) OVER (PARTITION BY {keys}number) AS have FROM numbered) WHERE have < {size}
"""


class CountResults:
    """The count windows of a report."""

    def __init__(self, report: Report, windows: Counts) -> None:
        self._report = report
        self._size = windows.size
        self._keys = "".join(f"{key}, " for key in report.keys)

    def portions(self, due: Due, batch: int, panes: DeltaTable, published: int) -> Iterator[Portion]:
        """The windows that became full since the last publication; a full window never changes."""
        assert due.span is not None  # noqa: S101 - what is due of count windows has a span
        # What the table says: where a publication failed on the way, more may be there than was due.
        full = _FULL.format(keys=self._keys, size=self._size, after=max(due.span[0], published), until=batch)
        yield self._ask(full, batch, panes), None

    def waiting(self, batch: int, panes: DeltaTable) -> pa.Table:
        """The events of windows that are not full, as rows of `panes`."""
        columns = ", ".join(PANES.schema.names)
        waiting = _WAITING.format(columns=columns, keys=self._keys, size=self._size)
        return self._ask(waiting, batch, panes).cast(PANES.schema)

    def _ask(self, select: str, batch: int, panes: DeltaTable) -> pa.Table:
        numbered = _NUMBERED.format(
            by=f"PARTITION BY {self._keys[:-2]} " if self._keys else "",
            size=self._size,
            parts=committed(self._report, batch),
        )
        return pa.table(QueryBuilder().register(PANES.name, panes).execute(numbered + select))
