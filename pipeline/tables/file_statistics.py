"""Statistics of the tables' files, from the logs alone; and the space of the disk below them."""

import shutil
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from tidemark.pipeline.runtime.disk import Size, Space
from tidemark.pipeline.tables.durable import local
from tidemark.pipeline.tables.schemas import OWN, TableSpec, find_table


def highest(table: DeltaTable, column: str) -> Any:
    """Returns the highest value of a column, None if no file has statistics of it."""
    return pc.max(_column(statistics_of(table), f"max.{column}")).as_py()


def highest_of_newest(table: DeltaTable, column: str, newest_by: str) -> Any:
    """Returns the highest value of a column in the file with the highest value of `newest_by`; None if unknown."""
    files = statistics_of(table)
    names = [f"max.{newest_by}", f"max.{column}"]
    if not {*names} <= {*files.column_names} or not files.num_rows:
        return None
    newest = files.select(names).sort_by([(names[0], "descending")]).slice(0, 1)
    return newest[names[1]][0].as_py()


def lowest(table: DeltaTable, column: str, **partition: str) -> Any:
    """Returns the lowest value of a column, in files with these values of partition columns."""
    return pc.min(_column(statistics_of(table, **partition), f"min.{column}")).as_py()


def statistics_of(table: DeltaTable, **partition: str) -> pa.Table:
    """Returns a row for each file with these values of partition columns: its path, size, rows and bounds."""
    files = pa.table(table.get_add_actions(flatten=True))
    for column, value in partition.items():
        if f"partition.{column}" in files.column_names:
            files = files.filter(pc.equal(files[f"partition.{column}"], value))
    return files


def rows_within(table: DeltaTable, start: tuple[str, Any], end: tuple[str, Any]) -> int:
    """Returns the number of rows of files that may have rows of a span: at most as many rows are in it.

    `start` and `end` are columns and values: rows whose first is at least, and whose second is at most that.
    """
    files = statistics_of(table)
    for name, limit, is_outside in ((f"max.{start[0]}", start[1], pc.less), (f"min.{end[0]}", end[1], pc.greater)):
        if name in files.column_names:
            outside = is_outside(files[name], pa.scalar(limit, files[name].type))
            files = files.filter(pc.invert(pc.fill_null(outside, fill_value=False)))
    return pc.sum(files["num_records"]).as_py() or 0


def smaller_files(table: DeltaTable, than_bytes: int) -> int:
    """Returns the number of a table's files that are smaller than `than_bytes`."""
    return pc.sum(pc.less(statistics_of(table)["size_bytes"], than_bytes)).as_py() or 0


def sizes(warehouse: str, results: Iterable[TableSpec]) -> dict[str, Size]:
    """Returns the size of every existing table, by name. Raises DeltaError or OSError if the store refuses."""
    names = [spec.name for spec in (*OWN, *results)]
    return {name: _size(statistics_of(table)) for name in names if (table := find_table(name, warehouse))}


def space(warehouse: str) -> Space | None:
    """Returns the space of the file system of a warehouse, which may not exist yet; None for other stores."""
    folder = local(warehouse)
    if folder is None:
        return None
    try:
        existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
        usage = shutil.disk_usage(existing)
    except OSError:
        return None
    return Space(usage.total, usage.free)


def _column(files: pa.Table, name: str) -> pa.ChunkedArray:
    return files[name] if name in files.column_names else pa.chunked_array([], pa.int64())


def _size(files: pa.Table) -> Size:
    rows, size = (pc.sum(files[name]).as_py() or 0 for name in ("num_records", "size_bytes"))
    return Size(rows, size, files.num_rows)
