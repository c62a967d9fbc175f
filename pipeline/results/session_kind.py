"""Sessions: partial sessions of a key that meet are one session, whichever batches they came with.

Publication replaces every session that was not closed at the last publication, so when a late event joins two sessions,
one row replaces their rows.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.firing import SessionsDue, Steps
from tidemark.pipeline.event_time.windows.base import Window
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.instants import moment, utc_sql
from tidemark.pipeline.results.applied import AppliedCorrections, with_corrections
from tidemark.pipeline.results.levels import Run
from tidemark.pipeline.results.measure_sql import joined_parts_sql, with_merged_sketches
from tidemark.pipeline.results.partial_sessions import Numbers, PartialSessions, sessions_as_panes
from tidemark.pipeline.results.result_kind import Merge, SourceTables, WindowKind, keys_sql, partition_by_sql
from tidemark.pipeline.results.result_table import (
    PublicationPlan,
    ResultChunk,
    Rows,
    panes_sql,
    timestamps,
    values_sql,
)
from tidemark.pipeline.tables.engines import Engine
from tidemark.pipeline.tables.query import query
from tidemark.pipeline.tables.schemas import PANES

# A part that starts after the time until which sessions were closed when it came meets no closed session, so all such
# parts of a pane are one row.
_PARTIAL_SESSIONS_SQL: Final = """
SELECT {keys}{joined}sum(late_events) AS late_events, max(batch) AS batch, min(watermark) AS watermark,
  min(closed_until) AS closed_until
FROM ({parts}) AS parts
GROUP BY {keys}pane_start, CASE WHEN closed_until < first_time THEN {never} ELSE closed_until END
ORDER BY {keys}first_time, last_time
"""
# In order of time, `reach` is the latest end of the earlier parts. A part joins sessions that end at or after its
# `first_time` and had not closed when it came. So a session starts at a part if neither it nor a later part joins what
# is before. (All parts that came after a session had closed lie after its last event.)
_WINDOWED_SQL: Final = """placed AS (
  SELECT parts.*, max(last_time) OVER ({in_order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) + {gap_ms} AS reach,
    min(greatest(first_time - 1, closed_until)) OVER (
      {in_order} ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
    ) AS joins_after
  FROM parts
), numbered AS (
  SELECT placed.*,
    sum(CASE WHEN reach > joins_after THEN 0 ELSE 1 END) OVER ({in_order} ROWS UNBOUNDED PRECEDING) AS number
  FROM placed
), windowed AS (
  SELECT numbered.*, min(first_time) OVER ({session}) AS start_ms, max(last_time) OVER ({session}) + {gap_ms} AS end_ms
  FROM numbered
)"""

# For executors, which have no numpy. The driver's engine would take microseconds per key.
_RESULT_SQL: Final = """
WITH parts AS ({parts}), {windowed}
SELECT {start} AS window_start, {end} AS window_end, {keys}{joined}sum(late_events) AS late_events,
  greatest(max(batch), fired_by) AS published_batch
FROM windowed JOIN (VALUES {steps}) AS steps (above, reached, fired_by) ON end_ms > above AND end_ms <= reached
WHERE end_ms > {after} AND end_ms <= {until}
GROUP BY {keys}start_ms, end_ms, fired_by
"""
_END_OF_TIME: Final = datetime.max.replace(tzinfo=UTC)


class SessionKind(WindowKind[SessionsDue]):
    """The result kind of sessions."""

    grows: ClassVar[bool] = True

    _windows: Sessions

    def plan(self, firing: SessionsDue, batch: int, tables: SourceTables) -> PublicationPlan:
        """Plans the sessions that are due, which replace all that were not closed at the last publication."""
        return PublicationPlan(self._chunks(firing, batch, tables.panes, tables.applied))

    def _chunks(
        self, firing: SessionsDue, batch: int, panes: DeltaTable, applied: AppliedCorrections
    ) -> Iterator[ResultChunk]:
        after, until = firing.after, firing.until
        where = f"{c.WINDOW_END} > {utc_sql(max(after, 0))}"
        replaced = {c.WINDOW_END: (moment(max(after, 0)), _END_OF_TIME)}
        files, corrections = self.files(panes, batch), applied.rows(self.report, after, rules.NEVER)
        if not corrections and (written := self.by_executors(files, partial(self.due_sql, firing, batch), replaced)):
            yield ResultChunk(written, where, is_last=True)
            return

        def rows_from(parts: str) -> pa.Table:
            sessions = self.sessions(parts, panes, after, until)
            ends = pc.add(sessions[c.LAST_TIME], self._windows.gap_ms)
            fired_by = pa.array(_first_to_reach(ends.to_numpy(), firing.steps))
            windows = sessions.append_column(c.WINDOW_START, timestamps(sessions[c.FIRST_TIME]))
            windows = windows.append_column(c.WINDOW_END, timestamps(ends))
            published_by = pc.max_element_wise(sessions[c.BATCH], fired_by)
            return self.result_rows(windows.append_column(c.PUBLISHED_BATCH, published_by))

        if corrections:
            rows: Rows = with_corrections(
                rows_from(panes_sql(self.report, batch)), corrections, self.report, grows=True
            )
        else:
            rows = self.by_driver(files, batch, rows_from)
        yield ResultChunk(rows, where, is_last=True)

    def merges(self, runs: Sequence[Run], panes: DeltaTable, final: int, cutoff: int) -> Iterator[Merge]:  # noqa: ARG002 - `final` decides
        """Yields merges of runs to one row for each session that is not final."""

        def unfinished_sessions(parts: str) -> pa.Table:
            return sessions_as_panes(self.sessions(parts, panes, after=final), self.report)

        yield from self.rewrites(runs, panes, self.report, unfinished_sessions)

    def open_windows_sql(self) -> str:
        """Returns SQL that joins the parts in panes to sessions, by window functions."""
        keys = self.report.keys
        return _WINDOWED_SQL.format(
            in_order=f"{partition_by_sql(*keys)} ORDER BY first_time, last_time, closed_until",
            session=partition_by_sql(*keys, "number"),
            gap_ms=self._windows.gap_ms,
        )

    def touched_sql(self, windows: Sequence[Window]) -> str:
        """Returns an SQL condition: the session meets one of the windows."""
        merged = list[Window]()
        for window in sorted({*windows}):
            if merged and window.start <= merged[-1].end:
                merged[-1] = Window(merged[-1].start, max(window.end, merged[-1].end))
            else:
                merged.append(window)
        meets = f"({c.WINDOW_END} >= {{}} AND {c.WINDOW_START} <= {{}})"
        return " OR ".join(meets.format(utc_sql(start), utc_sql(end)) for start, end in merged)

    def sessions(self, parts: str, panes: DeltaTable, after: int, until: int = rules.NEVER) -> pa.Table:
        """Returns the sessions, also open ones, that end after `after` and at or before `until` (ms).

        `parts` is SQL of rows of panes. Columns: the report's keys and parts, `late_events`, the last `batch`, the
        first `watermark` and `closed_until`.
        """
        rows = self._parts(parts, panes)
        closed = rows[c.CLOSED_UNTIL].to_numpy()
        gap_ms, own = self._windows.gap_ms, self.report.parts
        sessions = PartialSessions(rows, self.report.keys, gap_ms, closed, own).joined()
        ends = sessions[c.LAST_TIME].to_numpy() + self._windows.gap_ms
        return sessions.filter((after < ends) & (ends <= until))

    def due_sql(self, firing: SessionsDue, batch: int, engine: Engine) -> str:
        """Returns SQL of the sessions that are due."""
        reached = [rules.NO_WATERMARK, *(step.watermark for step in firing.steps)]
        return _RESULT_SQL.format(
            parts=panes_sql(self.report, batch),
            windowed=self.open_windows_sql(),
            start=engine.time("start_ms"),
            end=engine.time("end_ms"),
            keys=keys_sql(self.report),
            joined=joined_parts_sql(self.report),
            steps=values_sql((above, *step) for above, step in zip(reached, firing.steps, strict=False)),
            after=firing.after,
            until=firing.until,
        )

    def _parts(self, parts: str, panes: DeltaTable) -> pa.Table:
        keys = keys_sql(self.report)
        sql = _PARTIAL_SESSIONS_SQL.format(
            keys=keys, joined=joined_parts_sql(self.report), parts=parts, never=rules.NO_WATERMARK
        )
        rows = with_merged_sketches(query(sql, panes=panes), self.report)
        of_keys = {key: self.spec.schema.field(key) for key in self.report.keys}
        return rows.cast(pa.schema([of_keys.get(name) or PANES.schema.field(name) for name in rows.column_names]))


def _first_to_reach(ends: Numbers, steps: Steps) -> Numbers:
    """Returns the batch whose watermark first reached each end. `steps` are in order."""
    watermarks, batches = np.array(steps, dtype=np.int64).reshape(-1, 2).T
    return batches[np.searchsorted(watermarks, ends)]
