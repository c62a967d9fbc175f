"""Removing what no longer counts, and merging small files; done by delta-rs beside Spark's writes."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from pipeline.errors import SetUpError
from pipeline.frames import columns as c
from pipeline.tables.ledger import EPOCH
from pipeline.tables.schemas import DEAD_LETTERS, PAGE_VIEWS, PANES, TableSpec, open_table
from pipeline.tables.swap import attempt
from pipeline.time.grid import Grid

_FILE_BYTES: Final = 64 * 1024 * 1024
_MANY_FILES: Final = 64
_PANE_STARTS: Final = "SELECT DISTINCT pane_start FROM panes"


def create_tables(warehouse: str, grid: Grid) -> None:
    """Makes the tables that do not exist yet. Raises SetUpError if the warehouse has other windows."""
    for spec in (PAGE_VIEWS, DEAD_LETTERS):
        open_table(spec, warehouse)
    wanted = {f"tidemark.window_{name}": str(value) for name, value in asdict(grid).items()}
    configuration = open_table(PANES, warehouse, wanted).metadata().configuration
    for name, value in wanted.items():
        if configuration[name] != value:
            raise SetUpError(
                f"the warehouse {warehouse} was made with {name} = {configuration[name]}, "
                f"but the settings say {value}. Set it back, or use another warehouse"
            )


def delete_void(warehouse: str, last_batches: Mapping[int, int]) -> None:
    """Removes panes and dead letters of batches that were never committed."""
    ranges = [f"({c.BATCH} > {last} AND {c.BATCH} < {(epoch + 1) * EPOCH})" for epoch, last in last_batches.items()]
    if not ranges:
        return
    for spec in (PANES, DEAD_LETTERS):
        _delete(spec, warehouse, " OR ".join(ranges))


def sweep_panes(warehouse: str, before: int) -> None:
    """Removes panes that start before a time in milliseconds."""
    _table(PANES, warehouse).delete(f"{c.PANE_START} < {before}")


def merge_small_files(warehouse: str) -> None:
    """Keeps the number of files in proportion to the rows."""
    for spec in (PANES, DEAD_LETTERS, PAGE_VIEWS):
        table = _table(spec, warehouse)
        small = [size for size in pa.table(table.get_add_actions())["size_bytes"].to_pylist() if size < _FILE_BYTES]
        if len(small) >= _MANY_FILES:
            table.optimize.compact(target_size=_FILE_BYTES)


def remove_dead_files(warehouse: str) -> None:
    """Removes files that no version within the retention of a table needs."""
    for spec in (PANES, DEAD_LETTERS, PAGE_VIEWS):
        _table(spec, warehouse).vacuum(dry_run=False)


def pane_starts(warehouse: str) -> set[int]:
    """The start of every pane there are rows of, void ones included; in milliseconds."""
    found = QueryBuilder().register(PANES.name, _table(PANES, warehouse)).execute(_PANE_STARTS)
    return set(pa.table(found)[c.PANE_START].to_pylist())


def _delete(spec: TableSpec, warehouse: str, where: str) -> None:
    """Again, where a writer's commit came in between: an older service may still finish its last batch."""
    table = _table(spec, warehouse)
    while not attempt(table, lambda: table.delete(where)):
        pass


def _table(spec: TableSpec, warehouse: str) -> DeltaTable:
    return DeltaTable(spec.uri(warehouse))
