"""What the logs tell of the tables' files, with no look into any of them; and the space of the disk below."""

import shutil
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from pipeline.runtime.disk import Size, Space
from pipeline.tables.durable import local
from pipeline.tables.schemas import OWN, TableSpec, find_table


def highest(table: DeltaTable, column: str) -> Any:
    """The highest value of a column; None where nothing is known of any."""
    return pc.max(_column(told_of_files(table), f"max.{column}")).as_py()


def lowest(table: DeltaTable, column: str, **partition: str) -> Any:
    """The lowest value of a column, in the files with these values of partition columns."""
    return pc.min(_column(told_of_files(table, **partition), f"min.{column}")).as_py()


def told_of_files(table: DeltaTable, **partition: str) -> pa.Table:
    """A row for each file with these values of partition columns: its path, size, rows and bounds."""
    files = pa.table(table.get_add_actions(flatten=True))
    for column, value in partition.items():
        if f"partition.{column}" in files.column_names:
            files = files.filter(pc.equal(files[f"partition.{column}"], value))
    return files


def smaller_files(table: DeltaTable, than_bytes: int) -> int:
    """How many of its files are smaller."""
    return pc.sum(pc.less(told_of_files(table)["size_bytes"], than_bytes)).as_py() or 0


def sizes(warehouse: str, results: Iterable[TableSpec]) -> dict[str, Size]:
    """The size of every table that there is, by name. Raises DeltaError or OSError where the store refuses."""
    names = [spec.name for spec in (*OWN, *results)]
    return {name: _size(told_of_files(table)) for name in names if (table := find_table(name, warehouse))}


def space(warehouse: str) -> Space | None:
    """The space of the file system on which a warehouse is, or will be; None for other stores."""
    folder = local(warehouse)
    if folder is None:
        return None
    try:
        existing = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())
        found = shutil.disk_usage(existing)
    except OSError:
        return None
    return Space(found.total, found.free)


def _column(files: pa.Table, name: str) -> pa.ChunkedArray:
    return files[name] if name in files.column_names else pa.chunked_array([], pa.int64())


def _size(files: pa.Table) -> Size:
    rows, size = (pc.sum(files[name]).as_py() or 0 for name in ("num_records", "size_bytes"))
    return Size(rows, size, files.num_rows)
