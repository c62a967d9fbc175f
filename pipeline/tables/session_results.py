"""Sessions from partial sessions: those of a key that meet are one, whichever batch brought them.

Publication replaces every session that was not closed when it last ran, so two sessions that a late event joins become
one row, and the rows that it supersedes go.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import groupby
from typing import Any, Final

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from pipeline.frames import columns as c
from pipeline.tables.results import committed, moment, utc
from pipeline.tables.schemas import PANES
from pipeline.time import rules
from pipeline.time.report import Report
from pipeline.time.sessions import Sessions
from pipeline.time.windows import Due

Row = dict[str, Any]
_PARTS: Final = """
WITH parts AS ({parts}), placed AS (
  SELECT *, max(last_time) OVER (
    {by} ORDER BY first_time, last_time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  ) + {gap_ms} AS reach FROM parts
), numbered AS (
  SELECT *,
    reach + {allowed_lateness_ms} <= watermark AND first_time <= reach AS doubtful,
    sum(CASE WHEN first_time <= reach THEN 0 ELSE 1 END) OVER (
      {by} ORDER BY first_time, last_time ROWS UNBOUNDED PRECEDING
    ) AS session
  FROM placed
)
"""
_SUMS: Final = """
SELECT {keys} min(first_time) AS first_time, max(last_time) AS last_time, sum(page_views) AS page_views,
  sum(clicks) AS clicks, sum(late_events) AS late_events, max(batch) AS batch, min(watermark) AS watermark
FROM numbered GROUP BY {keys} session
HAVING NOT bool_or(coalesce(doubtful, false)) AND max(last_time) + {gap_ms} > {after}
  AND max(last_time) + {gap_ms} <= {until}
"""
_DOUBTFUL: Final = """
SELECT numbered.* FROM numbered JOIN (
  SELECT {keys} session FROM numbered GROUP BY {keys} session HAVING bool_or(coalesce(doubtful, false))
) AS found USING ({keys} session)
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
        steps = sorted(due.fired_by.items())
        found = [self._result(session, steps) for session in self.sessions(last_batches, panes, after, until)]
        names = [c.WINDOW_START, c.WINDOW_END, *self._report.keys, c.PAGE_VIEWS, c.CLICKS, c.LATE_EVENTS]
        table = pa.table({name: [row[name] for row in found] for name in (*names, c.PUBLISHED_BATCH)})
        return table, f"{c.WINDOW_END} > '{utc(max(after, 0))}'"

    def sessions(
        self, last_batches: Mapping[int, int], panes: DeltaTable, after: int, until: int = rules.NEVER
    ) -> Iterator[Row]:
        """The sessions that committed panes tell of, also those that go on, which end after and not after two times."""
        keys = "".join(f"{key}, " for key in self._report.keys)
        parts = _PARTS.format(
            parts=committed(self._report, last_batches),
            by=f"PARTITION BY {keys[:-2]}" if keys else "",
            gap_ms=self._gap_ms,
            allowed_lateness_ms=self._report.allowed_lateness_ms,
        )
        query = QueryBuilder().register(PANES.name, panes)
        sums = _SUMS.format(keys=keys, gap_ms=self._gap_ms, after=after, until=until)
        yield from pa.table(query.execute(parts + sums)).to_pylist()
        doubtful = pa.table(query.execute(parts + _DOUBTFUL.format(keys=keys))).to_pylist()
        yield from (one for one in self._in_turn(doubtful) if after < self._end(one) <= until)

    def _in_turn(self, rows: Sequence[Row]) -> Iterator[Row]:
        """Sessions of which one may have been closed when the next came that meets it: one after the other."""
        of_key = _by(rows, [*self._report.keys, "session"])
        for parts in of_key:
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

    def _result(self, session: Row, steps: Sequence[tuple[int, int]]) -> Row:
        end = self._end(session)
        fired_by = steps[bisect_left(steps, (end, 0))][1]
        return {
            **session,
            c.WINDOW_START: moment(session[c.FIRST_TIME]),
            c.WINDOW_END: moment(end),
            c.PUBLISHED_BATCH: max(session[c.BATCH], fired_by),
        }


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
