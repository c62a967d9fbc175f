"""Compaction: what panes hold of final windows goes, and the rest becomes one row for each pane and key.

A day's window at a batch a second would else be read from 86,400 rows of each user. Runs are merged in levels, so that
a merge touches little and no row is written again and again; and a merge lands beside the appends of later batches, so
that neither waits for the other.
"""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import structlog
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from pipeline.frames import columns as c
from pipeline.tables import merging
from pipeline.tables.levels import Run, runs_of, worth_merging, worth_settling
from pipeline.tables.results import committed, published
from pipeline.tables.schemas import COMPACTION_APP, PANES
from pipeline.tables.swap import attempt
from pipeline.tables.write import refuse_if_fenced
from pipeline.time import lateness
from pipeline.time.report import Periodic, Report

_RETRIES: Final = 5
_log = structlog.get_logger()


class Compaction:
    """One writer's view of `panes`; what it rewrites is refused once a newer service has begun."""

    def __init__(self, warehouse: str, reports: Sequence[Report]) -> None:
        self._warehouse = warehouse
        self._table = DeltaTable(PANES.uri(warehouse))
        self._reports = reports

    def __call__(self, batch: int, watermark: int | None) -> None:
        """Does what the files need, of what was committed up to `batch`, after which the watermark is the given one.

        Raises Replaced if a newer service has begun.
        """
        self._table.update_incremental()
        refuse_if_fenced(self._table, batch)
        runs = runs_of(self._table, batch)
        for report in self._reports:
            final = published(self._warehouse, report).closed_until
            if isinstance(report.windows, Periodic):
                self._windows(report, report.windows, runs[report.name], final, batch)
            else:
                self._others(report, runs[report.name], final, batch, watermark)

    def _windows(self, report: Report, windows: Periodic, runs: Sequence[Run], final: int, batch: int) -> None:
        # Whether a session began in a window is told by the panes before it.
        first = windows.earliest_after(final) - report.session_gap_ms
        for run in [run for run in runs if run.last_pane < first]:
            self._put(report, [run], None, batch)
        some = worth_merging([run for run in runs if run.last_pane >= first])
        if some:
            parts = committed(report, some[-1].last, f"{c.BATCH} >= {some[0].first} AND {c.PANE_START} >= {first}")
            self._put(report, some, merging.merged(parts, report, windows, self._table), batch)

    def _others(self, report: Report, runs: Sequence[Run], final: int, batch: int, watermark: int | None) -> None:
        """Sessions, counts and totals, of which only all that there is tells what can still change."""
        if worth_settling(runs):
            cutoff, _ = lateness.cutoffs(self._reports, watermark)
            rows = merging.settled(report, runs[-1].last, self._table, self._warehouse, final, cutoff)
            self._put(report, runs, rows, batch)
        elif some := worth_merging(runs[1:]):
            parts = committed(report, some[-1].last, f"{c.BATCH} >= {some[0].first}")
            self._put(report, some, merging.as_they_are(parts, self._table), batch)

    def _put(self, report: Report, runs: Sequence[Run], rows: pa.Table | None, batch: int) -> None:
        """In the place of some runs; nothing at all where there are no rows. What meets another writer is put off."""
        where = f"{c.REPORT} = '{report.name}' AND {c.BATCH} BETWEEN {runs[0].first} AND {runs[-1].last}"

        def act(properties: CommitProperties) -> None:
            if rows is None:
                self._table.delete(where, commit_properties=properties)
            else:
                write_deltalake(self._table, rows, mode="overwrite", predicate=where, commit_properties=properties)

        if not attempt(self._table, act, [Transaction(COMPACTION_APP, batch)], retries=_RETRIES):
            refuse_if_fenced(self._table, batch)
            _log.info("a merge of panes met another writer and is put off", report=report.name)
