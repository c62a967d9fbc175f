"""The statement that adds up the panes of windows that are due: one text, in which engines differ by a word or two."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pipeline import columns as c
from pipeline.event_time import lateness, rules
from pipeline.event_time.lateness import Sql
from pipeline.event_time.reports import Report
from pipeline.event_time.windows.periodic import Periodic
from pipeline.results.measure_sql import of_window
from pipeline.results.result_kind import keys_of
from pipeline.results.result_table import committed, values
from pipeline.tables.engines import Engine

_RESULT: Final = """
WITH placed AS (
  SELECT parts.*, window_start, window_end, fired_by
  FROM ({parts}) AS parts
  JOIN (VALUES {due}) AS due (pane, window_start, window_end, fired_by)
    ON pane_start = pane AND NOT ({was_closed})
)
SELECT
  {start} AS window_start,
  {end} AS window_end,
  {keys}
  {measures}
  sum(CASE WHEN {had_fired} THEN page_views + clicks ELSE 0 END) AS late_events,
  max(greatest(batch, fired_by)) AS published_batch
FROM {placed} WHERE pane_start >= window_start
GROUP BY {keys} window_start, window_end
"""
# Also from panes before the window, for a session may have begun in them.
_REACHED: Final = """(
  SELECT placed.*, coalesce(max(last_time) OVER (
    PARTITION BY window_end, user_id ORDER BY first_time, {in_order}last_time
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  ) + {gap_ms}, {never}) AS reach FROM placed
)"""
_END: Final = Sql(c.WINDOW_END)
_MANY_PANES: Final = 4096
"""A statement names the panes of so many windows; one that named all of a backlog of long windows took seconds."""


@dataclass(frozen=True, slots=True)
class Due:
    """Windows of a report, by their ends, and the batch up to which panes count."""

    report: Report
    windows: Periodic
    ends: Sequence[int]
    fired_by: Mapping[int, int]
    batch: int

    def pieces(self) -> "Iterator[Due]":
        """As many windows at a time as one statement may name with all their panes."""
        longest = max((len(self._panes_of(end)) for end in self.ends), default=1)
        yield from self._by(max(1, _MANY_PANES // longest))

    def parts(self, number: int) -> "Iterator[Due]":
        """At least as many parts, if there are so many windows, and fewer than twice as many."""
        yield from self._by(max(1, len(self.ends) // number))

    def _by(self, size: int) -> "Iterator[Due]":
        for place in range(0, len(self.ends), size):
            yield replace(self, ends=self.ends[place : place + size])

    def reach(self) -> tuple[int, int]:
        """The first and the last pane that the windows are made of."""
        panes = [self._panes_of(end) for end in self.ends]
        return min(some[0] for some in panes), max(some[-1] for some in panes)

    def sql(self, engine: Engine) -> str:
        """A row for each window and key, with what the parts join to."""
        report, keys, windows = self.report, keys_of(self.report), self.windows
        due = [(pane, windows.begin(end), end, self.fired_by[end]) for end in self.ends for pane in self._panes_of(end)]
        # Engines differ in where nulls are sorted.
        in_order = "".join(f"{key} NULLS LAST, " for key in report.keys)
        reached = _REACHED.format(in_order=in_order, gap_ms=report.session_gap_ms, never=rules.NO_WATERMARK)
        first, last = self.reach()
        return _RESULT.format(
            start=engine.time(c.WINDOW_START),
            end=engine.time(c.WINDOW_END),
            due=values(due),
            parts=committed(report.name, self.batch, f"{c.PANE_START} BETWEEN {first} AND {last}"),
            was_closed=lateness.is_closed(_END, Sql(c.CLOSED_UNTIL)),
            had_fired=lateness.has_fired(_END, Sql(c.WATERMARK)),
            keys=keys,
            measures=of_window(report),
            placed=reached if report.session_gap_ms else "placed",
        )

    def _panes_of(self, end: int) -> range:
        return range(self.windows.begin(end) - self.report.session_gap_ms, end, self.report.pane_ms)
