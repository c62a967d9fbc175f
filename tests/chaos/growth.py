"""Prepares tables for the upkeep after the first batch of a start, without waiting for a hundred batches."""

from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from tests.chaos.site import WINDOW_MS
from tests.support.warehouse import milliseconds, rows

MANY_FILES = 70
"""More than upkeep leaves alone."""
LATENESS_MS = 1_000
"""As the service allows it."""


def can_grow(warehouse: Path) -> bool:
    """Whether compaction would find batches of which all windows are closed, and `scatter` rows for many files."""
    ends = [milliseconds(row["window_end"]) for row in rows(warehouse, "page_views")]
    files = pa.table(DeltaTable(warehouse / "panes").get_add_actions(flatten=True))
    if not ends or not len(files) or len(rows(warehouse, "dead_letters")) < MANY_FILES:
        return False
    return bool(min(files["max.pane_start"].to_pylist()) + WINDOW_MS + LATENESS_MS <= max(ends))


def scatter(warehouse: Path, name: str) -> None:
    """Rewrites a table as many small files, as many batches would; its rows do not change."""
    table = DeltaTable(warehouse / name)
    found = table.to_pyarrow_table()
    few = len(found) // MANY_FILES
    for first in range(0, len(found), few):
        write_deltalake(table, found.slice(first, few), mode="append" if first else "overwrite")
