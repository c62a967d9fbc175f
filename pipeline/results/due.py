"""The SQL that adds up the panes of windows that are due, for each engine."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import lateness, rules
from tidemark.pipeline.event_time.lateness import Sql
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.periodic import Periodic
from tidemark.pipeline.measures import EVENTS_SQL
from tidemark.pipeline.results.largest_values import row_keys_sql
from tidemark.pipeline.results.measure_sql import window_measures_sql
from tidemark.pipeline.results.result_table import panes_sql, values_sql
from tidemark.pipeline.tables.engines import Engine

_RESULT_SQL: Final = """
WITH placed AS (
  SELECT parts.*, window_start, window_end, fired_by
  FROM ({parts}) AS parts
  JOIN (VALUES {due}) AS due (pane, window_start, window_end, fired_by)
    ON pane_start = pane AND NOT ({was_closed})
){largest}
SELECT
  {start} AS window_start,
  {end} AS window_end,
  {keys}
  {measures}
  sum(CASE WHEN {had_fired} THEN {events} ELSE 0 END) AS late_events,
  max(greatest(batch, fired_by)) AS published_batch
FROM {rows} WHERE pane_start >= window_start
GROUP BY {grouped} window_start, window_end
"""
# Also from panes before the window, because a session may have started in them.
_REACHED_SQL: Final = """(
  SELECT placed.*, coalesce(max(last_time) OVER (
    PARTITION BY window_end, user_id ORDER BY first_time, {in_order}last_time
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  ) + {gap_ms}, {never}) AS reach FROM placed
)"""
_END_SQL: Final = Sql(c.WINDOW_END)


class PaneRange(NamedTuple):
    """The starts of the first and the last pane, in milliseconds."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class WindowsToPublish:
    """Windows of a report, by their ends in milliseconds, and the batch up to which panes count."""

    report: Report
    windows: Periodic
    ends: Sequence[int]
    fired_by: Mapping[int, int]
    batch: int
    most_panes: int
    """A statement lists at most this many panes."""
    panes: Sequence[int] | None = None
    """Starts of the panes that have rows, in order; None if not known, which is right for all."""

    def with_panes(self, starts: Callable[[str], Sequence[int]]) -> "WindowsToPublish":
        """Returns the windows with the panes that have rows, if listing all panes would take more than one statement.

        `starts` returns the starts of panes, in order, from the SQL of their rows.
        """
        if sum(len(self._panes_of(end)) for end in self.ends) <= self.most_panes:
            return self
        return replace(self, panes=starts(self._parts_sql()))

    def pieces(self) -> "Iterator[WindowsToPublish]":
        """Yields as many windows at a time as one statement may list with all their panes."""
        longest = max((len(self._panes_of(end)) for end in self.ends), default=1)
        yield from self._by(max(1, self.most_panes // longest))

    def parts(self, count: int) -> "Iterator[WindowsToPublish]":
        """Splits the windows into at least `count` parts and fewer than twice as many, as far as there are windows."""
        yield from self._by(max(1, len(self.ends) // count))

    def _by(self, size: int) -> "Iterator[WindowsToPublish]":
        for start in range(0, len(self.ends), size):
            yield replace(self, ends=self.ends[start : start + size])

    def pane_range(self) -> PaneRange:
        """Returns the first and the last pane that the windows consist of."""
        panes = [self._panes_of(end) for end in self.ends]
        return PaneRange(min(starts[0] for starts in panes), max(starts[-1] for starts in panes))

    def sql(self, engine: Engine) -> str:
        """Returns SQL with a row for each window and key, which joins their panes."""
        report, windows = self.report, self.windows
        due = [(pane, windows.begin(end), end, self.fired_by[end]) for end in self.ends for pane in self._panes_of(end)]
        # Engines differ in where nulls are sorted.
        in_order = "".join(f"{key} NULLS LAST, " for key in report.keys)
        reached = _REACHED_SQL.format(in_order=in_order, gap_ms=report.session_gap_ms, never=rules.NO_WATERMARK)
        return _RESULT_SQL.format(
            start=engine.time(c.WINDOW_START),
            end=engine.time(c.WINDOW_END),
            due=values_sql(due),
            parts=self._parts_sql(),
            was_closed=lateness.is_closed(_END_SQL, Sql(c.CLOSED_UNTIL)),
            had_fired=lateness.has_fired(_END_SQL, Sql(c.WATERMARK)),
            **row_keys_sql(report, reached if report.session_gap_ms else "placed")._asdict(),
            events=EVENTS_SQL,
            measures=window_measures_sql(report),
        )

    def _parts_sql(self) -> str:
        first, last = self.pane_range()
        return panes_sql(self.report, self.batch, f"{c.PANE_START} BETWEEN {first} AND {last}")

    def _panes_of(self, end: int) -> Sequence[int]:
        """Returns the starts of the panes of a window: at least its first, because SQL allows no empty list."""
        # Whether an event starts a session depends on events up to a gap before it, maybe before the window.
        starts = range(self.windows.begin(end) - self.report.session_gap_ms, end, self.report.pane_ms)
        if self.panes is None:
            return starts
        return self.panes[bisect_left(self.panes, starts[0]) : bisect_left(self.panes, end)] or starts[:1]
