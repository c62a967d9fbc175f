"""Sessions from partial sessions: those of a key that meet are one, whichever batch brought them.

Publication replaces every session that was not closed when it last ran, so two sessions that a late event joins become
one row, and the rows that it supersedes go.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import groupby
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, QueryBuilder

from pipeline.frames import columns as c
from pipeline.tables.islands import Flags, Islands, Numbers, moments
from pipeline.tables.results import committed, utc
from pipeline.tables.schemas import PANES
from pipeline.time import rules
from pipeline.time.report import Report
from pipeline.time.sessions import Sessions
from pipeline.time.windows import Due

Row = dict[str, Any]
# Closed sessions end by the watermark less the allowed lateness. What begins after that meets none of them, and is one
# row of its pane, whenever it came.
_SQL: Final = """
SELECT {keys}min(first_time) AS first_time, max(last_time) AS last_time, sum(page_views) AS page_views,
  sum(clicks) AS clicks, sum(late_events) AS late_events, max(batch) AS batch, min(watermark) AS watermark
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
        islands = Islands(self._parts(last_batches, panes), self._report.keys, self._gap_ms)
        sessions = islands.joined()
        ends = sessions[c.LAST_TIME].to_numpy() + self._gap_ms
        in_doubt = islands.any_of(self._in_doubt(islands))
        clear = sessions.filter((after < ends) & (ends <= until) & ~in_doubt)
        in_turn = self._in_turn(islands.rows_of(in_doubt & (after < ends)).to_pylist())
        others = [one for one in in_turn if after < self._end(one) <= until]
        return pa.concat_tables([clear, pa.Table.from_pylist(others, schema=clear.schema)])

    def _parts(self, last_batches: Mapping[int, int], panes: DeltaTable) -> pa.Table:
        sql = _SQL.format(
            keys="".join(f"{key}, " for key in self._report.keys),
            parts=committed(self._report, last_batches),
            allowed_lateness_ms=self._report.allowed_lateness_ms,
            never=rules.NO_WATERMARK,
        )
        found = pa.table(QueryBuilder().register(PANES.name, panes).execute(sql))
        return found.cast(pa.schema([PANES.schema.field(name) for name in found.column_names]))

    def _in_doubt(self, islands: Islands) -> Flags:
        """Of each row, whether the session that it meets may have been closed when it came."""
        lateness = self._report.allowed_lateness_ms
        meets: Flags = islands.rows[c.FIRST_TIME].to_numpy() <= islands.reach
        has_closed: Flags = rules.has_closed(islands.reach, islands.rows[c.WATERMARK].to_numpy(), lateness)
        return meets & has_closed

    def _in_turn(self, rows: Sequence[Row]) -> Iterator[Row]:
        """Sessions of which one may have been closed when the next came that meets it: one after the other."""
        for parts in _by(rows, self._report.keys):
            live: list[Row] = []
            for arrived in _by(parts, [c.WATERMARK]):
                closed = [one for one in live if self._has_closed(one, arrived[0][c.WATERMARK])]
                yield from closed
                live = reduce(self._joined, arrived, [one for one in live if one not in closed])
            yield from live

    def _joined(self, live: list[Row], part: Row) -> list[Row]:
        """The live sessions with a part more, which may join some of them."""
        meets = [one for one in live if one[c.FIRST_TIME] <= self._end(part) and part[c.FIRST_TIME] <= self._end(one)]
        return [one for one in live if one not in meets] + [reduce(_sum, meets, part)]

    def _has_closed(self, session: Row, watermark: int) -> bool:
        closed: bool = rules.has_closed(self._end(session), watermark, self._report.allowed_lateness_ms)
        return closed

    def _end(self, session: Row) -> int:
        end: int = session[c.LAST_TIME] + self._gap_ms
        return end


def _first_to_reach(ends: Numbers, steps: Sequence[tuple[int, int]]) -> Numbers:
    """The batch whose watermark first reached each end, given (watermark, batch) in order."""
    watermarks, batches = np.array(steps, dtype=np.int64).reshape(-1, 2).T
    return batches[np.searchsorted(watermarks, ends)]


def _by(rows: Iterable[Row], names: Sequence[str]) -> list[list[Row]]:
    """Rows with equal values together, in order of these."""

    def key(row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in names)

    return [list(group) for _, group in groupby(sorted(rows, key=key), key=key)]


def _sum(one: Row, other: Row) -> Row:
    return {
        **one,
        c.FIRST_TIME: min(one[c.FIRST_TIME], other[c.FIRST_TIME]),
        c.LAST_TIME: max(one[c.LAST_TIME], other[c.LAST_TIME]),
        c.BATCH: max(one[c.BATCH], other[c.BATCH]),
        c.WATERMARK: min(one[c.WATERMARK], other[c.WATERMARK]),
        **{name: one[name] + other[name] for name in (c.PAGE_VIEWS, c.CLICKS, c.LATE_EVENTS)},
    }
