"""Compaction: what panes hold of final windows goes, and the rest becomes one row for each pane and key.

A day's window at a batch a second would else be read from 86,400 rows of each user. Runs are merged in levels, so that
a merge touches little and no row is written again and again; and a merge lands beside the appends of later batches, so
that neither waits for the other.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import structlog
from deltalake import Transaction
from deltalake.transaction import AddAction

from pipeline import columns as c
from pipeline.event_time import rules
from pipeline.results.levels import Run, runs_of
from pipeline.results.result_kind import ResultKind
from pipeline.results.result_table import published
from pipeline.results.spill import Spill
from pipeline.tables.file_statistics import told_of_files
from pipeline.tables.files import Files, files_in, write
from pipeline.tables.handle import Handle
from pipeline.tables.schemas import PANES
from pipeline.tables.transactions import COMPACTION_APP, MERGED_APP

_log = structlog.get_logger()


class Compaction:
    """One writer's view of `panes`; what it rewrites is refused once a newer service has begun."""

    def __init__(self, warehouse: str, kinds: Iterable[ResultKind[Any]]) -> None:
        self._warehouse = warehouse
        self._handle = Handle(PANES.uri(warehouse))
        self._kinds = [*kinds]

    def steps(self, batch: int, cutoff: int, closed: Mapping[str, int]) -> Iterator[None]:
        """Does what the files need, a merge at a time, of what was committed up to `batch`.

        Events from before `cutoff` were too late everywhere at the batch; `closed` is by report up to which end its
        windows were closed then. What closed later does not count: a session that has ended by newer panes may go on in
        panes up to the batch. Raises Replaced if a newer service has begun.
        """
        for kind in self._kinds:
            final = min(published(self._warehouse, kind.spec).closed_until, closed.get(kind.name, rules.NO_WATERMARK))
            self._handle.refresh()
            files = told_of_files(self._handle.table)
            runs = runs_of(files, batch).get(kind.name, [])
            for merged, rows in kind.merges(runs, self._handle.table, final, cutoff):
                self._exchange(kind.name, self._files(files, merged, kind.name), rows, batch, final)
                yield

    def _files(self, files: pa.Table, runs: Sequence[Run], name: str) -> Files:
        some = files.take([file for run in runs for file in run.files])
        return files_in(self._handle.table, some, {c.REPORT: name})

    def _exchange(self, name: str, gone: Files, rows: Spill | pa.Table | None, batch: int, final: int) -> None:
        """Puts rows in the place of files; None: the files go. What meets another writer is put off."""
        new = list[AddAction]()
        if rows is not None:
            # All are there, on the disk or not, for no query may run inside a write of delta-rs.
            data = rows.rows() if isinstance(rows, Spill) else rows
            new = write(self._handle.table, data, {c.REPORT: name}, data_change=True)
        merged = f"{MERGED_APP}{name}"
        done = [Transaction(COMPACTION_APP, batch), Transaction(merged, max(final, self._handle.last(merged)))]
        if not self._handle.exchange(gone, new, by=batch, transactions=done):
            _log.info("panes_merge_put_off", report=name)
