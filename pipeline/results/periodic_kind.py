"""Windows whose ends follow from the clock.

Panes are small, so delta-rs and its query engine add them up: thirty times less work than a Spark job and a Spark
commit for each batch.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import lateness, rules
from tidemark.pipeline.event_time.firing import WindowsDue
from tidemark.pipeline.event_time.lateness import Sql
from tidemark.pipeline.event_time.reports import PANE_KEYS
from tidemark.pipeline.event_time.windows.aligned import Aligned
from tidemark.pipeline.event_time.windows.base import Window
from tidemark.pipeline.event_time.windows.periodic import Periodic
from tidemark.pipeline.instants import moment, utc_sql
from tidemark.pipeline.results.applied import with_corrections
from tidemark.pipeline.results.due import WindowsToPublish
from tidemark.pipeline.results.levels import Run, worth_merging
from tidemark.pipeline.results.measure_sql import joined_parts_sql, with_merged_sketches
from tidemark.pipeline.results.result_kind import Merge, SourceTables, WindowKind, as_panes
from tidemark.pipeline.results.result_table import (
    PublicationPlan,
    ResultChunk,
    panes_sql,
    statement_count,
    values_sql,
)
from tidemark.pipeline.tables.engines import Engine
from tidemark.pipeline.tables.file_statistics import highest
from tidemark.pipeline.tables.query import Row, query
from tidemark.pipeline.tables.schemas import PANES

# Rows that are late for no window are merged; other rows only with rows of the same watermark.
_MERGED_SQL: Final = """
SELECT report, pane_start, {keys}, {joined} max(batch) AS batch,
  sum(late_events) AS late_events, min(watermark) AS watermark, min(closed_until) AS closed_until,
  max(window_start_ms) AS window_start_ms, max(window_end_ms) AS window_end_ms
FROM ({parts}) AS parts JOIN (VALUES {firsts}) AS firsts (pane, first_end) ON pane_start = pane
GROUP BY report, pane_start, {keys},
  CASE WHEN {had_fired} THEN watermark ELSE {never} END,
  CASE WHEN {had_fired} THEN closed_until ELSE {never} END
"""
_ALIGNED_SQL: Final = """windowed AS (
  SELECT parts.*, {period} + from_ms AS start_ms, {period} + to_ms AS end_ms
  FROM parts CROSS JOIN (VALUES {windows}) AS windows (from_ms, to_ms)
)"""
_CALENDAR_SQL: Final = """windowed AS (
  SELECT parts.*, window_start_ms AS start_ms, window_end_ms AS end_ms FROM parts
)"""


class PeriodicKind(WindowKind[WindowsDue]):
    """Grids, calendars and all other windows whose ends follow from the clock."""

    _windows: Periodic

    def plan(self, firing: WindowsDue, batch: int, tables: SourceTables) -> PublicationPlan:
        """Plans the windows that are due; a long backlog of overlapping windows is split."""
        ends, most_panes = sorted(firing.fired | firing.refired), self._tuning.statement_panes
        due = WindowsToPublish(self.report, self._windows, ends, firing.fired_by, batch, most_panes)
        return PublicationPlan(self._chunks(due.with_panes(partial(_pane_starts, tables.panes)), tables))

    def _chunks(self, due: WindowsToPublish, tables: SourceTables) -> Iterator[ResultChunk]:
        """Yields chunks of as many windows as have about `chunk_rows` rows; a window is never cut."""
        # The table decides which rows are replaced, and not the earlier firings: a commit whose failure was reported
        # may have landed, and after a reset of the watermark windows fire that had been published by a wrong clock.
        last = highest(tables.results, c.WINDOW_END)
        rows, ends = list[pa.Table](), list[int]()
        pieces = [*due.pieces()]
        for piece in pieces:
            where = _replaced_sql(piece.ends, last)
            corrections = self._corrections(piece.ends, tables) if where else []
            files = self.files(tables.panes, due.batch, {c.PANE_START: piece.pane_range()})
            replaced = {c.WINDOW_END: (moment(piece.ends[0]), moment(piece.ends[-1]))}
            if not corrections and (written := self.by_executors(files, piece.sql, replaced)):
                yield ResultChunk(written, where, is_last=piece is pieces[-1] and not ends)
                continue
            parts = [*piece.parts(statement_count(files.rows, self._tuning.statement_rows))]
            for part in parts:
                rows.append(self._rows(part, corrections, tables.panes))
                ends += part.ends
                is_last = piece is pieces[-1] and part is parts[-1]
                if is_last or sum(map(len, rows)) > self._tuning.chunk_rows:
                    yield ResultChunk(pa.concat_tables(rows), _replaced_sql(ends, last), is_last)
                    rows, ends = [], []
        if ends:
            yield ResultChunk(pa.concat_tables(rows), _replaced_sql(ends, last), is_last=True)

    def _rows(self, part: WindowsToPublish, corrections: Sequence[Row], panes: DeltaTable) -> pa.Table:
        made = self.result_rows(query(part.sql(Engine.DELTA_RS), panes=panes)).cast(self.spec.schema)
        theirs = [row for row in corrections if row[c.WINDOW_END_MS] in {*part.ends}]
        return with_corrections(made, theirs, self.report, grows=False)

    def _corrections(self, ends: Sequence[int], tables: SourceTables) -> list[Row]:
        """Returns the corrections of windows by their ends."""
        return [
            row for row in tables.applied.rows(self.report, ends[0] - 1, ends[-1]) if row[c.WINDOW_END_MS] in {*ends}
        ]

    def merges(self, runs: Sequence[Run], panes: DeltaTable, final: int, cutoff: int) -> Iterator[Merge]:  # noqa: ARG002 - panes have their own cutoffs
        """Yields the removal of runs with final windows only, and a merge of the newest other runs."""
        # Whether a session started in a window depends on the panes before it.
        first = self._windows.earliest_after(final) - self.report.session_gap_ms
        for is_final, group in groupby(runs, lambda run: run.last_pane < first):
            if is_final:  # a group in one commit, because there may be a run for each batch
                yield Merge([*group], None)
        if newest := worth_merging([run for run in runs if run.last_pane >= first], self._tuning.merged_runs):
            condition = f"{c.BATCH} >= {newest[0].first} AND {c.PANE_START} >= {first}"
            yield Merge(newest, self._merged(panes_sql(self.report, newest[-1].last, condition), panes))

    def touched_sql(self, windows: Sequence[Window]) -> str:
        """Returns an SQL condition: the row is of one of the windows."""
        return _with_ends_sql(sorted({window.end for window in windows}))

    def _merged(self, parts: str, panes: DeltaTable) -> pa.Table:
        """Returns a row for each pane and key, and for each watermark at which a window of the pane had fired."""
        windows = self._windows
        starts = _pane_starts(panes, parts)
        if not starts:
            return PANES.schema.empty_table()
        sql = _MERGED_SQL.format(
            parts=parts,
            firsts=values_sql((pane, min(windows.ends(windows.pane_start(pane)))) for pane in starts),
            had_fired=lateness.has_fired(Sql("first_end"), Sql(c.WATERMARK)),
            never=rules.NO_WATERMARK,
            joined=joined_parts_sql(self.report),
            keys=", ".join(PANE_KEYS),
        )
        return as_panes(with_merged_sketches(query(sql, panes=panes), self.report))


class AlignedKind(PeriodicKind):
    """Windows that repeat in every period."""

    _windows: Aligned

    @property
    def is_open_sql(self) -> str:
        """SQL condition: the window contains the pane, and has not fired."""
        return f"end_ms > pane_start AND {super().is_open_sql}"

    def open_windows_sql(self) -> str:
        """Returns SQL of the windows that may contain a pane: those that contain the start of its period."""
        offset_ms, period_ms = self._windows.offset_ms, self._windows.period_ms
        windows = values_sql((start - offset_ms, end - offset_ms) for start, end in self._windows.of(offset_ms))
        since_ms = f"(pane_start - {offset_ms % period_ms})"
        # % truncates towards zero, and times before the first period are negative.
        in_period = f"({since_ms} % {period_ms} + {period_ms}) % {period_ms}"
        return _ALIGNED_SQL.format(period=f"pane_start - {in_period}", windows=windows)


class CalendarKind(PeriodicKind):
    """Windows by the calendar of a time zone."""

    def open_windows_sql(self) -> str:
        """Returns SQL of the window whose bounds each pane contains."""
        return _CALENDAR_SQL


def _replaced_sql(ends: Sequence[int], last: datetime | None) -> str | None:
    """Returns the SQL condition for the rows that windows replace; None if they end after `last`, as no row does."""
    return None if last is None or moment(ends[0]) > last else _with_ends_sql(ends)


def _pane_starts(panes: DeltaTable, sql: str) -> list[int]:
    """Returns the starts of panes in order, from the SQL of their rows."""
    distinct = f"SELECT DISTINCT {c.PANE_START} FROM ({sql}) AS parts"  # noqa: S608 - our own
    return sorted(query(distinct, panes=panes)[c.PANE_START].to_pylist())


def _with_ends_sql(ends: Sequence[int]) -> str:
    return f"{c.WINDOW_END} IN ({', '.join(map(utc_sql, ends))})"
