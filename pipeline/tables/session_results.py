"""Sessions from partial sessions: those of a key that meet are one, whichever batch brought them.

Publication replaces every session that was not closed when it last ran, so two sessions that a late event joins become
one row, and the rows that it supersedes go.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, QueryBuilder

from pipeline.frames import columns as c
from pipeline.tables.islands import Islands, Numbers
from pipeline.tables.results import committed, moments, utc
from pipeline.tables.schemas import PANES
from pipeline.time import rules
from pipeline.time.report import Report
from pipeline.time.sessions import Sessions
from pipeline.time.windows import Due

# Closed sessions end by the watermark less the allowed lateness. What begins after that meets none of them, and is one
# row of its pane, whenever it came.
_SQL: Final = """
SELECT {keys}min(first_time) AS first_time, max(last_time) AS last_time, sum(page_views) AS page_views,
  sum(clicks) AS clicks, sum(late_events) AS late_events, max(batch) AS batch, min(watermark) AS watermark,
  min(closed_until) AS closed_until
FROM ({parts}) AS parts
GROUP BY {keys}pane_start, CASE WHEN watermark < first_time + {allowed_lateness_ms} THEN {never} ELSE watermark END
ORDER BY {keys}first_time, last_time
"""


class SessionResults:
    """The sessions of a report."""

    def __init__(self, report: Report, windows: Sessions) -> None:
        self._report = report
        self._gap_ms = windows.gap_ms

    def rows(self, due: Due, last_batches: Mapping[int, int], panes: DeltaTable) -> tuple[pa.Table, str | None]:
        """Rows of the result, and which they replace."""
        assert due.span is not None  # noqa: S101 - what is due of sessions has a span
        after, until = due.span
        found = self.sessions(last_batches, panes, after, until)
        ends = pc.add(found[c.LAST_TIME], self._gap_ms)
        fired_by = pa.array(_first_to_reach(ends.to_numpy(), sorted(due.fired_by.items())))
        times = {c.WINDOW_START: moments(found[c.FIRST_TIME]), c.WINDOW_END: moments(ends)}
        same = {name: found[name] for name in (*self._report.keys, c.PAGE_VIEWS, c.CLICKS, c.LATE_EVENTS)}
        table = pa.table({**times, **same, c.PUBLISHED_BATCH: pc.max_element_wise(found[c.BATCH], fired_by)})
        return table, f"{c.WINDOW_END} > '{utc(max(after, 0))}'"

    def sessions(
        self, last_batches: Mapping[int, int], panes: DeltaTable, after: int, until: int = rules.NEVER
    ) -> pa.Table:
        """The sessions that committed panes tell of, also those that go on, which end after and not after two times.

        Columns: the report's keys, `first_time`, `last_time`, the counts, the last `batch` and the first `watermark`.
        """
        parts = self._parts(last_batches, panes)
        closed = parts[c.WATERMARK].to_numpy() - self._report.allowed_lateness_ms
        found = Islands(parts, self._report.keys, self._gap_ms, closed).joined()
        ends = found[c.LAST_TIME].to_numpy() + self._gap_ms
        return found.filter((after < ends) & (ends <= until))

    def _parts(self, last_batches: Mapping[int, int], panes: DeltaTable) -> pa.Table:
        sql = _SQL.format(
            keys="".join(f"{key}, " for key in self._report.keys),
            parts=committed(self._report, last_batches),
            allowed_lateness_ms=self._report.allowed_lateness_ms,
            never=rules.NO_WATERMARK,
        )
        found = pa.table(QueryBuilder().register(PANES.name, panes).execute(sql))
        return found.cast(pa.schema([PANES.schema.field(name) for name in found.column_names]))


def _first_to_reach(ends: Numbers, steps: Sequence[tuple[int, int]]) -> Numbers:
    """The batch whose watermark first reached each end, given (watermark, batch) in order."""
    watermarks, batches = np.array(steps, dtype=np.int64).reshape(-1, 2).T
    return batches[np.searchsorted(watermarks, ends)]
