"""Removing what no longer counts, and merging small files; done by delta-rs beside Spark's writes."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from pipeline.frames import columns as c
from pipeline.tables.ledger import EPOCH
from pipeline.tables.schemas import DEAD_LETTERS, PANES, TableSpec, result_of
from pipeline.tables.swap import attempt
from pipeline.time.report import Report

_FILE_BYTES: Final = 64 * 1024 * 1024
_MANY_FILES: Final = 64
_PANE_STARTS: Final = "SELECT DISTINCT report, pane_start FROM panes"


def delete_void(warehouse: str, last_batches: Mapping[int, int]) -> None:
    """Removes panes and dead letters of batches that were never committed."""
    ranges = [f"({c.BATCH} > {last} AND {c.BATCH} < {(epoch + 1) * EPOCH})" for epoch, last in last_batches.items()]
    if not ranges:
        return
    for spec in (PANES, DEAD_LETTERS):
        _delete(spec, warehouse, " OR ".join(ranges))


def merge_small_files(warehouse: str, reports: Sequence[Report]) -> None:
    """Keeps the number of files in proportion to the rows."""
    for spec in (DEAD_LETTERS, *map(result_of, reports)):
        table = _table(spec, warehouse)
        small = [size for size in pa.table(table.get_add_actions())["size_bytes"].to_pylist() if size < _FILE_BYTES]
        if len(small) >= _MANY_FILES:
            table.optimize.compact(target_size=_FILE_BYTES)


def remove_dead_files(warehouse: str, reports: Sequence[Report]) -> None:
    """Removes files that no version within the retention of a table needs."""
    for spec in (PANES, DEAD_LETTERS, *map(result_of, reports)):
        _table(spec, warehouse).vacuum(dry_run=False)


def pane_starts(warehouse: str) -> dict[str, set[int]]:
    """The start of every pane there are rows of, void ones included, by report; in milliseconds."""
    found = pa.table(QueryBuilder().register(PANES.name, _table(PANES, warehouse)).execute(_PANE_STARTS))
    starts = defaultdict[str, set[int]](set)
    for row in found.to_pylist():
        starts[row[c.REPORT]].add(row[c.PANE_START])
    return starts


def _delete(spec: TableSpec, warehouse: str, where: str) -> None:
    """Again, where a writer's commit came in between: an older service may still finish its last batch."""
    table = _table(spec, warehouse)
    while not attempt(table, lambda: table.delete(where)):
        pass


def _table(spec: TableSpec, warehouse: str) -> DeltaTable:
    return DeltaTable(spec.uri(warehouse))
