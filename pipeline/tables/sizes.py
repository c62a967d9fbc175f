"""The sizes of the tables, and of the disk below them."""

import shutil
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from pipeline.runtime.disk import Size, Space
from pipeline.tables.durable import local
from pipeline.tables.schemas import OWN, TableSpec, find_table


def sizes(warehouse: str, results: Iterable[TableSpec]) -> dict[str, Size]:
    """The size of every table that there is, by name. Raises DeltaError or OSError where the store refuses."""
    names = [spec.name for spec in (*OWN, *results)]
    return {name: _size(table) for name in names if (table := find_table(name, warehouse))}


def space(warehouse: str) -> Space | None:
    """The space of the file system on which a warehouse is, or will be; None for other stores."""
    folder = local(warehouse)
    if folder is None:
        return None
    try:
        found = shutil.disk_usage(_existing(folder))
    except OSError:
        return None
    return Space(found.total, found.free)


def _size(table: DeltaTable) -> Size:
    files = pa.table(table.get_add_actions())
    rows, size = (pc.sum(files[name]).as_py() or 0 for name in ("num_records", "size_bytes"))
    return Size(rows, size, files.num_rows)


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())
