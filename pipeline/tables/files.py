"""The data files of a table: which of them a question needs, and those that were written beside its log."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.fs import DeltaStorageHandler
from deltalake.transaction import AddAction, RemoveAction

from pipeline.tables.durable import local
from pipeline.tables.schemas import STATISTICS
from pipeline.tables.statistics import told_of_files

Bounds = Mapping[str, tuple[Any, Any]]
"""The lowest and the highest value of some columns, both included."""


@dataclass(frozen=True, slots=True)
class Files:
    """Some data files of one version of a table, by their paths below it."""

    folder: str
    """The table's, as Hadoop writes it."""
    paths: Sequence[str]
    sizes: Sequence[int]
    rows: int
    """How many they have, as the log tells."""

    @property
    def uris(self) -> list[str]:
        """Where they are."""
        return [f"{self.folder}/{path}" for path in self.paths]

    def removed(self) -> list[RemoveAction]:
        """The actions of a commit that takes them out of a table that is in no parts."""
        now_ms = time.time_ns() // 1_000_000
        sized = zip(self.paths, self.sizes, strict=True)
        return [
            RemoveAction(path, data_change=True, deletion_timestamp=now_ms, size=size, partition_values={})
            for path, size in sized
        ]


def files_of(table: DeltaTable, between: Bounds, **partition: str) -> Files:
    """The files that may have a row within these bounds, with these values of partition columns."""
    files = told_of_files(table, **partition)
    mays = [may for column, bounds in between.items() for may in _may_be_in(files, column, *bounds)]
    if mays:
        files = files.filter(reduce(pc.and_, mays))
    rows = pc.sum(files["num_records"]).as_py() or 0
    return Files(folder_of(table), files["path"].to_pylist(), files["size_bytes"].to_pylist(), rows)


def _may_be_in(files: pa.Table, column: str, low: Any, high: Any) -> Iterator[pa.ChunkedArray]:
    """Whether the statistics leave it open; a file without any may have everything."""
    if f"min.{column}" in files.column_names:
        yield pc.fill_null(pc.less_equal(files[f"min.{column}"], high), fill_value=True)
        yield pc.fill_null(pc.greater_equal(files[f"max.{column}"], low), fill_value=True)


def added(table: DeltaTable, folder: str, **partition: str) -> list[AddAction]:
    """The actions of a commit that takes in the Parquet files in a folder below the table; one without rows is removed.

    All have these values of partition columns. Statistics are those of their footers, of the columns of which the
    table's other files have them.
    """
    store, wanted = store_of(table.table_uri), _with_statistics(table)
    found, now_ms = [], time.time_ns() // 1_000_000
    for info in store.get_file_info(pafs.FileSelector(folder, recursive=True)):
        if info.extension == "parquet":
            with store.open_input_file(info.path) as file:
                footer = pq.read_metadata(file)
            if not footer.num_rows:  # Spark writes one at least
                store.delete_file(info.path)
                continue
            told = json.dumps(_statistics(footer, wanted))
            found.append(AddAction(info.path, info.size, partition, now_ms, data_change=True, stats=told))
    return found


def remove(table: DeltaTable, folder: str) -> None:
    """Removes the files in a folder below a table, which no version names."""
    store = store_of(table.table_uri)
    for info in store.get_file_info(pafs.FileSelector(folder, recursive=True)):
        if info.is_file:
            store.delete_file(info.path)


def folder_of(table: DeltaTable) -> str:
    """Where a table is, as Hadoop writes it: with every character of a local path as it is."""
    path = local(table.table_uri)
    return f"file:{path}" if path else table.table_uri.rstrip("/")


def store_of(uri: str) -> pafs.FileSystem:
    """The store below a table, by paths from its folder on."""
    return pafs.PyFileSystem(DeltaStorageHandler(uri))


def _with_statistics(table: DeltaTable) -> set[str]:
    named = table.metadata().configuration.get(STATISTICS)
    return {*named.split(",")} if named else {one.name for one in table.schema().fields}


def _statistics(footer: pq.FileMetaData, wanted: set[str]) -> dict[str, Any]:
    """What Delta's log says of a file."""
    lowest, highest, nulls = dict[str, Any](), dict[str, Any](), dict[str, int]()
    for place, name in enumerate(footer.schema.names):
        if name not in wanted:
            continue
        parts = [footer.row_group(group).column(place).statistics for group in range(footer.num_row_groups)]
        if all(part is not None and part.has_null_count for part in parts):
            nulls[name] = sum(part.null_count for part in parts)
        # A row group of nulls alone has neither.
        bounds = [part for part in parts if part is None or part.null_count < part.num_values + part.null_count]
        if bounds and all(part is not None and part.has_min_max for part in bounds):
            least, most = min(part.min for part in bounds), max(part.max for part in bounds)
            if not isinstance(least, bytes):
                lowest[name], highest[name] = _in_json(least), _in_json(most)
    return {"numRecords": footer.num_rows, "minValues": lowest, "maxValues": highest, "nullCount": nulls}


def _in_json(value: Any) -> Any:
    if isinstance(value, datetime):  # of whole milliseconds, as all times of ours are and the log has them
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value
