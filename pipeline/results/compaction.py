"""Compaction: removes panes of final windows, and merges other panes to one row for each pane and key.

Without it a window of a day at one batch a second is read from 86,400 rows of each user. Runs are merged in levels, so
that a merge rewrites little and a row is rewritten rarely. A merge can commit while later batches append, so neither
waits for the other.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import structlog
from deltalake import Transaction
from deltalake.transaction import AddAction

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.results.levels import Run, runs_of
from tidemark.pipeline.results.result_kind import ResultKind
from tidemark.pipeline.results.result_table import published
from tidemark.pipeline.results.spill import Spill
from tidemark.pipeline.tables.file_statistics import statistics_of
from tidemark.pipeline.tables.files import Files, files_in, write
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.schemas import PANES
from tidemark.pipeline.tables.transactions import COMPACTION_APP, MERGED_APP

_log = structlog.get_logger()


class Compaction:
    """One service's view of `panes`. Its commits are refused once a newer service has started."""

    def __init__(self, warehouse: str, kinds: Iterable[ResultKind[Any]]) -> None:
        self._warehouse = warehouse
        self._handle = Handle(PANES.uri(warehouse))
        self._kinds = [*kinds]

    def steps(self, batch: int, cutoff: int, closed: Mapping[str, int]) -> Iterator[None]:
        """Compacts panes up to the committed `batch`, one merge a step. Raises Replaced if a newer service has started.

        At this batch, events before `cutoff` (ms) were too late everywhere, and windows that end at or before `closed`
        (ms, by report) were closed. What closed later is not used: a session that newer panes have ended may continue
        in panes up to the batch.
        """
        for kind in self._kinds:
            final = min(published(self._warehouse, kind.spec).closed_until, closed.get(kind.name, rules.NO_WATERMARK))
            self._handle.refresh()
            files = statistics_of(self._handle.table)
            runs = runs_of(files, batch).get(kind.name, [])
            for merged, rows in kind.merges(runs, self._handle.table, final, cutoff):
                self._exchange(kind.name, self._files(files, merged, kind.name), rows, batch, final)
                yield

    def _files(self, files: pa.Table, runs: Sequence[Run], name: str) -> Files:
        merged = files.take([file for run in runs for file in run.files])
        return files_in(self._handle.table, merged, {c.REPORT: name})

    def _exchange(self, name: str, old: Files, rows: Spill | pa.Table | None, batch: int, final: int) -> None:
        """Replaces files by rows, or removes them if `rows` is None; deferred if a file was rewritten."""
        new = list[AddAction]()
        if rows is not None:
            # All rows are made before, because no query may run inside a write of delta-rs.
            data = rows.rows() if isinstance(rows, Spill) else rows
            new = write(self._handle.table, data, {c.REPORT: name}, data_change=True)
        app = f"{MERGED_APP}{name}"
        versions = [Transaction(COMPACTION_APP, batch), Transaction(app, max(final, self._handle.last(app)))]
        if not self._handle.exchange(old, new, by=batch, transactions=versions):
            _log.info("panes_merge_deferred", report=name)
