"""Windows whose ends the clock tells.

Panes are small, so they are added up where they are committed, by delta-rs and its query engine: thirty times less work
than a Spark job and a commit of Spark's for each batch.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable

from pipeline import columns as c
from pipeline.event_time import lateness, rules
from pipeline.event_time.firing import Firing
from pipeline.event_time.lateness import Sql
from pipeline.event_time.report import Report
from pipeline.event_time.windows.aligned import Aligned
from pipeline.event_time.windows.periodic import Periodic
from pipeline.tables.engines import Engine
from pipeline.tables.files import files_of
from pipeline.tables.large import NOTHING, By, Job, Large, View, Written
from pipeline.tables.query import Row, query
from pipeline.tables.results.cells import cell_of, joined
from pipeline.tables.results.kind import Merge, WindowKind, as_panes, keys_of
from pipeline.tables.results.levels import Run, worth_merging
from pipeline.tables.results.measures import has_sketches, joined_parts, of_window, sketches_joined
from pipeline.tables.results.result_table import Portion, committed, moment, utc, values
from pipeline.tables.schemas import PANES

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
_END: Final = Sql(c.WINDOW_END)
_MANY_PANES: Final = 4096
"""A statement names the panes of so many windows; one that named all of a backlog of long windows took seconds."""
_MANY_ROWS: Final = 1_000_000
"""Of which a commit is made before more are added up."""
# Also from panes before the window, for a session may have begun in them.
_REACHED: Final = """(
  SELECT placed.*, coalesce(max(last_time) OVER (
    PARTITION BY window_end, user_id ORDER BY first_time, {in_order}last_time
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  ) + {gap_ms}, {never}) AS reach FROM placed
)"""
# Rows that no window takes for late are all the same; of the others each batch's watermark decides.
_MERGED: Final = """
SELECT report, pane_start, user_id, page_url, event_type, {joined} max(batch) AS batch,
  sum(late_events) AS late_events, min(watermark) AS watermark, min(closed_until) AS closed_until,
  max(window_start_ms) AS window_start_ms, max(window_end_ms) AS window_end_ms
FROM ({parts}) AS parts JOIN (VALUES {firsts}) AS firsts (pane, first_end) ON pane_start = pane
GROUP BY report, pane_start, user_id, page_url, event_type,
  CASE WHEN {had_fired} THEN watermark ELSE {never} END,
  CASE WHEN {had_fired} THEN closed_until ELSE {never} END
"""
_ALIGNED: Final = """windowed AS (
  SELECT parts.*, {period} + from_ms AS start_ms, {period} + to_ms AS end_ms
  FROM parts CROSS JOIN (VALUES {windows}) AS windows (from_ms, to_ms)
)"""
_CALENDAR: Final = """windowed AS (
  SELECT parts.*, window_start_ms AS start_ms, window_end_ms AS end_ms FROM parts
)"""


class PeriodicKind(WindowKind):
    """Grids, calendars and all other windows whose ends the clock tells."""

    def __init__(self, report: Report, windows: Periodic, large: Large = NOTHING) -> None:
        super().__init__(report, large)
        self._windows = windows

    def portions(self, firing: Firing, batch: int, panes: DeltaTable, published: int) -> Iterator[Portion]:  # noqa: ARG002 - what is due says it
        """Rows of the result, and which they replace; of a long backlog of overlapping windows a part at a time."""
        found, ends, is_done = [self.spec.schema.empty_table()], list[int](), False
        for some in self._chunks(sorted(firing.fired | firing.refired)):
            if written := self._written(some, firing, batch, panes):
                yield written, _where(some, firing)
                is_done = True
                continue
            if sum(map(len, found)) > _MANY_ROWS:
                yield pa.concat_tables(found), _where(ends, firing)
                found, ends = [], []
            ends += some
            found.append(self._rows(some, firing, batch, panes))
        if ends or not is_done:
            yield pa.concat_tables(found), _where(ends, firing)

    def merges(self, runs: Sequence[Run], panes: DeltaTable, final: int, cutoff: int) -> Iterator[Merge]:  # noqa: ARG002 - each pane tells
        """Runs of final windows go, and the newest others become one row for each pane and key."""
        # Whether a session began in a window is told by the panes before it.
        first = self._windows.earliest_after(final) - self.report.session_gap_ms
        yield from (([run], None) for run in runs if run.last_pane < first)
        if some := worth_merging([run for run in runs if run.last_pane >= first]):
            among = f"{c.BATCH} >= {some[0].first} AND {c.PANE_START} >= {first}"
            yield some, self._merged(committed(self.name, some[-1].last, among), panes)

    def touched(self, spans: Sequence[tuple[int, int]]) -> str:
        """The windows with these ends."""
        return _with_ends(sorted({end for _, end in spans}))

    def corrected(self, shown: Iterable[Row], rows: Iterable[Row]) -> list[Row]:
        """An event adds to the cell of its keys in each of its windows."""
        names = (c.WINDOW_START, c.WINDOW_END, *self.report.keys)
        cells = {tuple(row[name] for name in names): row for row in shown}
        for row in rows:
            new = cell_of(row, self.report)
            key = tuple(new[name] for name in names)
            cells[key] = joined(cells[key], new, self.report) if key in cells else new
        return list(cells.values())

    def _rows(self, ends: Sequence[int], firing: Firing, batch: int, panes: DeltaTable) -> pa.Table:
        sql = self._sql(ends, firing, batch, Engine.DELTA_RS)
        return self.told(query(sql, panes=panes)).cast(self.spec.schema)

    def _written(self, ends: Sequence[int], firing: Firing, batch: int, panes: DeltaTable) -> Written | None:
        """The same by executors, where what is read for it is large."""
        executors, report = self._large.executors, {c.REPORT: self.name}
        if executors is None or has_sketches(self.report):
            self._large.tell(Job.PUBLICATION, By.DRIVER)
            return None
        files = files_of(panes, {c.BATCH: (0, batch), c.PANE_START: self._reach(ends)}, report)
        if not self._large.takes(Job.PUBLICATION, self.name, files.rows):
            return None
        sql = self.told_in_sql(self._sql(ends, firing, batch, Engine.SPARK), Engine.SPARK)
        shown = {c.WINDOW_END: (moment(min(ends)), moment(max(ends)))}
        return Written(executors, sql, {PANES.name: View(files, PANES.schema, report)}, self.spec.schema, shown)

    def _chunks(self, ends: Sequence[int]) -> Iterator[Sequence[int]]:
        """Ends of windows, as many at a time as one statement may name with all their panes."""
        longest = max((len(self._panes_of(end)) for end in ends), default=1)
        size = max(1, _MANY_PANES // longest)
        return (ends[place : place + size] for place in range(0, len(ends), size))

    def _panes_of(self, end: int) -> range:
        return range(self._windows.begin(end) - self.report.session_gap_ms, end, self.report.pane_ms)

    def _reach(self, ends: Sequence[int]) -> tuple[int, int]:
        """The first and the last pane that windows are made of."""
        panes = [self._panes_of(end) for end in ends]
        return min(some[0] for some in panes), max(some[-1] for some in panes)

    def _sql(self, ends: Sequence[int], firing: Firing, batch: int, engine: Engine) -> str:
        report, keys = self.report, keys_of(self.report)
        panes = [
            (pane, self._windows.begin(end), end, firing.fired_by[end]) for end in ends for pane in self._panes_of(end)
        ]
        # Engines differ in where nulls are sorted.
        in_order = "".join(f"{key} NULLS LAST, " for key in report.keys)
        reached = _REACHED.format(in_order=in_order, gap_ms=report.session_gap_ms, never=rules.NO_WATERMARK)
        first, last = self._reach(ends)
        return _RESULT.format(
            start=engine.time(c.WINDOW_START),
            end=engine.time(c.WINDOW_END),
            due=values(panes),
            parts=committed(self.name, batch, f"{c.PANE_START} BETWEEN {first} AND {last}"),
            was_closed=lateness.is_closed(_END, Sql(c.CLOSED_UNTIL)),
            had_fired=lateness.has_fired(_END, Sql(c.WATERMARK)),
            keys=keys,
            measures=of_window(report),
            placed=reached if report.session_gap_ms else "placed",
        )

    def _merged(self, parts: str, panes: DeltaTable) -> pa.Table:
        """A row for each pane and key, and for each batch that came when a window of the pane had fired."""
        windows = self._windows
        distinct = f"SELECT DISTINCT {c.PANE_START} FROM ({parts}) AS parts"  # noqa: S608 - our own
        starts = query(distinct, panes=panes)[c.PANE_START].to_pylist()
        if not starts:
            return PANES.schema.empty_table()
        sql = _MERGED.format(
            parts=parts,
            firsts=values((pane, min(windows.ends(windows.pane_start(pane)))) for pane in starts),
            had_fired=lateness.has_fired(Sql("first_end"), Sql(c.WATERMARK)),
            never=rules.NO_WATERMARK,
            joined=joined_parts(self.report),
        )
        return as_panes(sketches_joined(query(sql, panes=panes), self.report))


class AlignedKind(PeriodicKind):
    """Windows that lie alike in every period."""

    def __init__(self, report: Report, windows: Aligned, large: Large = NOTHING) -> None:
        super().__init__(report, windows, large)
        self._aligned = windows

    @property
    def is_open(self) -> str:
        """The pane is part of it, and it has not fired."""
        return f"end_ms > pane_start AND {super().is_open}"

    def open_windows(self) -> str:
        """Every window that a pane may be part of: the windows of its period's begin."""
        offset_ms, period_ms = self._aligned.offset_ms, self._aligned.period_ms
        windows = values((start - offset_ms, end - offset_ms) for start, end in self._aligned.of(offset_ms))
        return _ALIGNED.format(period=f"pane_start - (pane_start - {offset_ms}) % {period_ms}", windows=windows)


class CalendarKind(PeriodicKind):
    """Windows by the calendar of a time zone."""

    def open_windows(self) -> str:
        """The window that each pane tells."""
        return _CALENDAR


def _where(ends: Sequence[int], firing: Firing) -> str | None:
    """Which rows these windows replace; none, where all of them fire for the first time."""
    return _with_ends(ends) if firing.refired.intersection(ends) else None


def _with_ends(ends: Sequence[int]) -> str:
    return f"{c.WINDOW_END} IN ({', '.join(repr(utc(end)) for end in ends)})"
