"""Reads the tables of contestants as counts by user and window."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable

from benchmarks.duel.scenario import Cell
from benchmarks.peers.flink.check import finished_files, milliseconds


def delta_cells(uri: str) -> Counter[Cell]:
    """Returns the counts of a Delta table; empty if it does not exist yet."""
    return _cells(DeltaTable(uri).to_pyarrow_table()) if DeltaTable.is_deltatable(uri) else Counter()


def parquet_cells(folder: Path) -> Counter[Cell]:
    """Returns the counts of the committed files of a folder."""
    return Counter() if (table := parquet_table(folder)) is None else _cells(table)


def parquet_table(folder: Path) -> pa.Table | None:
    """Returns the rows of the committed files of a folder; None if there is no file."""
    files = [str(file) for file in finished_files(folder)]
    return ds.dataset(files, format="parquet").to_table() if files else None


def _cells(table: pa.Table) -> Counter[Cell]:
    """Sums rows of the same user and window, as a report on the table would."""
    start = milliseconds(table["window_start"])
    events = pc.add(table["page_views"], table["clicks"])
    cells: Counter[Cell] = Counter()
    for user, window, count in zip(table["user_id"].to_pylist(), start.to_pylist(), events.to_pylist(), strict=True):
        if user is not None:
            cells[user, window] += count
    return cells
