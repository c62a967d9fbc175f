"""Compaction: what panes hold of final windows goes, and the rest becomes one row for each pane and key.

A day's window at a batch a second would else be read from 86,400 rows of each user. Runs are merged in levels, so that
a merge touches little and no row is written again and again; and a merge lands beside the appends of later batches, so
that neither waits for the other.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

import pyarrow as pa
import structlog
from deltalake import DeltaTable, Transaction, write_deltalake

from pipeline import columns as c
from pipeline.tables.results.kind import ResultKind
from pipeline.tables.results.levels import Run, runs_of
from pipeline.tables.results.result_table import published
from pipeline.tables.results.spill import Spill
from pipeline.tables.schemas import COMPACTION_APP, PANES
from pipeline.tables.swap import attempt
from pipeline.tables.write import refuse_if_fenced

_RETRIES: Final = 5
_log = structlog.get_logger()


class Compaction:
    """One writer's view of `panes`; what it rewrites is refused once a newer service has begun."""

    def __init__(self, warehouse: str, kinds: Iterable[ResultKind]) -> None:
        self._warehouse = warehouse
        self._table = DeltaTable(PANES.uri(warehouse))
        self._kinds = [*kinds]

    def steps(self, batch: int, cutoff: int) -> Iterator[None]:
        """Does what the files need, a merge at a time, of what was committed up to `batch`.

        Events from before `cutoff` are too late everywhere. Raises Replaced if a newer service has begun.
        """
        self._table.update_incremental()
        refuse_if_fenced(self._table, batch)
        runs = runs_of(self._table, batch)
        for kind in self._kinds:
            final = published(self._warehouse, kind.spec).closed_until
            for some, rows in kind.merges(runs[kind.name], self._table, final, cutoff):
                self._put(kind.name, some, rows, batch)
                yield

    def _put(self, name: str, runs: Sequence[Run], rows: Spill | pa.Table | None, batch: int) -> None:
        """In the place of some runs; nothing at all where there are no rows. What meets another writer is put off."""
        where = f"{c.REPORT} = '{name}' AND {c.BATCH} BETWEEN {runs[0].first} AND {runs[-1].last}"
        act: Callable[..., object] = partial(self._table.delete, where)
        if rows is not None:
            # All are there, on the disk or not, for no query may run inside a write of delta-rs.
            data = rows.rows() if isinstance(rows, Spill) else rows
            act = partial(write_deltalake, self._table, data, mode="overwrite", predicate=where)
        if not attempt(self._table, act, [Transaction(COMPACTION_APP, batch)], retries=_RETRIES):
            refuse_if_fenced(self._table, batch)
            _log.info("a merge of panes met another writer and is put off", report=name)
