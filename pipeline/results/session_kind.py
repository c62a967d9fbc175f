"""Sessions from partial sessions: those of a key that meet are one, whichever batch brought them.

Publication replaces every session that was not closed when it last ran, so two sessions that a late event joins become
one row, and the rows that it supersedes go.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from pipeline import columns as c
from pipeline.event_time import rules
from pipeline.event_time.firing import SessionsDue, Steps
from pipeline.event_time.windows.session import Sessions
from pipeline.instants import moment, utc
from pipeline.results.applied import Applied, with_corrections
from pipeline.results.islands import Islands, Numbers, panes_of
from pipeline.results.levels import Run
from pipeline.results.measure_sql import joined_parts
from pipeline.results.result_kind import Merge, SourceTables, WindowKind, keys_of, partition_by, rewrites
from pipeline.results.result_table import PublicationPlan, ResultChunk, Rows, committed, moments, values
from pipeline.tables.engines import Engine
from pipeline.tables.query import query
from pipeline.tables.schemas import PANES

# What begins after the time until which sessions were closed when it came meets none of them, and is one row of its
# pane, whenever it came.
_SQL: Final = """
SELECT {keys}{joined}sum(late_events) AS late_events, max(batch) AS batch, min(watermark) AS watermark,
  min(closed_until) AS closed_until
FROM ({parts}) AS parts
GROUP BY {keys}pane_start, CASE WHEN closed_until < first_time THEN {never} ELSE closed_until END
ORDER BY {keys}first_time, last_time
"""
# In order of time: `reach` is the end of all parts before this one. A part joined what ended at its `first_time` or
# later, for these meet, and had not closed when it came. So a session begins where neither this
# part nor one after it joined what is before. (All that came after a session had closed lies after its last event.)
_WINDOWED: Final = """placed AS (
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

# For executors, which have no numpy; the driver's engine would take microseconds for every key.
_RESULT: Final = """
WITH parts AS ({parts}), {windowed}
SELECT {start} AS window_start, {end} AS window_end, {keys}{joined}sum(late_events) AS late_events,
  greatest(max(batch), fired_by) AS published_batch
FROM windowed JOIN (VALUES {steps}) AS steps (above, reached, fired_by) ON end_ms > above AND end_ms <= reached
WHERE end_ms > {after} AND end_ms <= {until}
GROUP BY {keys}start_ms, end_ms, fired_by
"""
_END_OF_TIME: Final = datetime.max.replace(tzinfo=UTC)


class SessionKind(WindowKind[SessionsDue]):
    """Sessions."""

    grows: ClassVar[bool] = True

    _windows: Sessions

    def plan(self, firing: SessionsDue, batch: int, tables: SourceTables) -> PublicationPlan:
        """Plans the sessions that are due, in the place of all that were not closed at the last publication."""
        return PublicationPlan(self._chunks(firing, batch, tables.panes, tables.applied))

    def _chunks(self, firing: SessionsDue, batch: int, panes: DeltaTable, applied: Applied) -> Iterator[ResultChunk]:
        after, until = firing.after, firing.until
        where = f"{c.WINDOW_END} > '{utc(max(after, 0))}'"
        replaced = {c.WINDOW_END: (moment(max(after, 0)), _END_OF_TIME)}
        files, corrections = self.files(panes, batch), applied.rows(self.report, after, rules.NEVER)
        if not corrections and (written := self.by_executors(files, partial(self.statement, firing, batch), replaced)):
            yield ResultChunk(written, where, is_last=True)
            return

        def made(parts: str) -> pa.Table:
            found = self.sessions(parts, panes, after, until)
            ends = pc.add(found[c.LAST_TIME], self._windows.gap_ms)
            fired_by = pa.array(_first_to_reach(ends.to_numpy(), firing.steps))
            windows = found.append_column(c.WINDOW_START, moments(found[c.FIRST_TIME]))
            windows = windows.append_column(c.WINDOW_END, moments(ends))
            return self.told(windows.append_column(c.PUBLISHED_BATCH, pc.max_element_wise(found[c.BATCH], fired_by)))

        if corrections:
            sessions = made(committed(self.name, batch))
            rows: Rows = with_corrections(sessions, corrections, self.report, grows=True)
        else:
            rows = self.by_driver(files, batch, made)
        yield ResultChunk(rows, where, is_last=True)

    def merges(self, runs: Sequence[Run], panes: DeltaTable, final: int, cutoff: int) -> Iterator[Merge]:  # noqa: ARG002 - sessions know what is final
        """A row for each session that is not final."""

        def kept(parts: str) -> pa.Table:
            return panes_of(self.sessions(parts, panes, after=final), self.name)

        yield from rewrites(self.name, runs, panes, self.report.keys, kept)

    def open_windows(self) -> str:
        """Sessions as the panes tell of them, merged by window functions."""
        keys = self.report.keys
        return _WINDOWED.format(
            in_order=f"{partition_by(*keys)} ORDER BY first_time, last_time, closed_until",
            session=partition_by(*keys, "number"),
            gap_ms=self._windows.gap_ms,
        )

    def touched(self, spans: Sequence[tuple[int, int]]) -> str:
        """All sessions that meet the events' own parts."""
        apart = list[tuple[int, int]]()
        for start, end in sorted({*spans}):
            if apart and start <= apart[-1][1]:
                apart[-1] = apart[-1][0], max(end, apart[-1][1])
            else:
                apart.append((start, end))
        return " OR ".join(f"({c.WINDOW_END} >= '{utc(a)}' AND {c.WINDOW_START} <= '{utc(b)}')" for a, b in apart)

    def sessions(self, parts: str, panes: DeltaTable, after: int, until: int = rules.NEVER) -> pa.Table:
        """The sessions that rows of panes tell of, also open ones, which end after and not after two times.

        Columns: the report's keys and parts, `late_events`, the last `batch`, the first `watermark` and `closed_until`.
        """
        rows = self._parts(parts, panes)
        found = Islands(rows, self.report.keys, self._windows.gap_ms, rows[c.CLOSED_UNTIL].to_numpy()).joined()
        ends = found[c.LAST_TIME].to_numpy() + self._windows.gap_ms
        return found.filter((after < ends) & (ends <= until))

    def statement(self, firing: SessionsDue, batch: int, engine: Engine) -> str:
        """The sessions that are due, in the SQL of an engine."""
        reached = [rules.NO_WATERMARK, *(step.watermark for step in firing.steps)]
        return _RESULT.format(
            parts=committed(self.name, batch),
            windowed=self.open_windows(),
            start=engine.time("start_ms"),
            end=engine.time("end_ms"),
            keys=keys_of(self.report),
            joined=joined_parts(self.report),
            steps=values((above, *step) for above, step in zip(reached, firing.steps, strict=False)),
            after=firing.after,
            until=firing.until,
        )

    def _parts(self, parts: str, panes: DeltaTable) -> pa.Table:
        keys = keys_of(self.report)
        sql = _SQL.format(keys=keys, joined=joined_parts(self.report), parts=parts, never=rules.NO_WATERMARK)
        found = query(sql, panes=panes)
        return found.cast(pa.schema([PANES.schema.field(name) for name in found.column_names]))


def _first_to_reach(ends: Numbers, steps: Steps) -> Numbers:
    """The batch whose watermark first reached each end, given (watermark, batch) in order."""
    watermarks, batches = np.array(steps, dtype=np.int64).reshape(-1, 2).T
    return batches[np.searchsorted(watermarks, ends)]
