"""The data files of a table: those that a query needs, and those that were written without a commit."""

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import reduce
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.fs import DeltaStorageHandler
from deltalake.transaction import AddAction, RemoveAction

from tidemark.pipeline import instants
from tidemark.pipeline.tables.durable import local
from tidemark.pipeline.tables.file_statistics import statistics_of
from tidemark.pipeline.tables.schemas import STATISTICS

_MERGED: Final = "merged"
"""Folder below a table for files into which rows of several files were merged."""
Bounds = Mapping[str, tuple[Any, Any]]
"""The lowest and the highest value of some columns, both included."""


@dataclass(frozen=True, slots=True)
class Files:
    """Some data files of one version of a table, by their paths below it."""

    folder: str
    """The folder of the table, in Hadoop's notation."""
    paths: Sequence[str]
    sizes: Sequence[int]
    rows: int
    """The number of their rows, by the log."""
    partition: Mapping[str, str] = field(default_factory=dict)
    """Values of partition columns, the same for all of them."""

    @property
    def uris(self) -> list[str]:
        """Their URIs."""
        return [f"{self.folder}/{path}" for path in self.paths]

    def remove_actions(self, *, data_change: bool = True) -> list[RemoveAction]:
        """Returns the actions that remove them from a table; `data_change` is false if their rows stay in it."""
        now_ms, values = instants.now_ms(), dict[str, str | None](self.partition)
        return [
            RemoveAction(path, data_change, now_ms, size=size, partition_values=values)
            for path, size in zip(self.paths, self.sizes, strict=True)
        ]


def files_of(table: DeltaTable, between: Bounds, **partition: str) -> Files:
    """Returns the files that may have a row within these bounds, with these values of partition columns."""
    files = statistics_of(table, **partition)
    conditions = [
        condition for column, bounds in between.items() for condition in _may_have_values(files, column, *bounds)
    ]
    if conditions:
        files = files.filter(reduce(pc.and_, conditions))
    return files_in(table, files, partition)


def files_in(table: DeltaTable, files: pa.Table, partition: Mapping[str, str]) -> Files:
    """Returns the files of a table that some rows of its statistics describe, all with these partition values."""
    rows = pc.sum(files["num_records"]).as_py() or 0
    return Files(folder_of(table), files["path"].to_pylist(), files["size_bytes"].to_pylist(), rows, partition)


def _may_have_values(files: pa.Table, column: str, low: Any, high: Any) -> Iterator[pa.ChunkedArray]:
    """Flags files that may have values from `low` to `high`; files without statistics may have any value."""
    if f"min.{column}" in files.column_names:
        yield pc.fill_null(pc.less_equal(files[f"min.{column}"], high), fill_value=True)
        yield pc.fill_null(pc.greater_equal(files[f"max.{column}"], low), fill_value=True)


def read(table: DeltaTable, files: Files) -> pa.RecordBatchReader:
    """Reads the rows of some files of a table that has no partitions, with all its columns."""
    schema = pa.schema(table.schema())
    dataset = pads.dataset([*files.paths], schema=schema, format="parquet", filesystem=store_of(table.table_uri))
    return dataset.scanner(batch_readahead=1, fragment_readahead=1).to_reader()


def write(
    table: DeltaTable, rows: pa.Table | pa.RecordBatchReader, partition: Mapping[str, str], *, data_change: bool
) -> list[AddAction]:
    """Writes rows as a file of a partition, without a commit. Without rows there is no file.

    `data_change` is false if the rows are in the table already, so that readers of changes need not see them again.
    """
    folder = f"{_MERGED}/{uuid.uuid4().hex}"
    schema = pa.schema([one for one in rows.schema if one.name not in partition])
    store = store_of(table.table_uri)
    with pq.ParquetWriter(f"{folder}/rows.parquet", schema, filesystem=store) as file:
        for batch in rows.to_batches() if isinstance(rows, pa.Table) else rows:
            file.write_batch(batch.select(schema.names))
    return added(table, folder, partition, data_change=data_change)


def added(table: DeltaTable, folder: str, partition: Mapping[str, str], *, data_change: bool = True) -> list[AddAction]:
    """Returns the actions that add the Parquet files of a folder below the table; files without rows are deleted.

    All have these values of partition columns. Their statistics come from their footers, in the columns for which the
    table has statistics. Folders below it are ignored: a task that Spark gave up may still write to `_temporary`.
    """
    store, wanted = store_of(table.table_uri), _columns_with_statistics(table)
    actions, now_ms, values = [], instants.now_ms(), dict[str, str | None](partition)
    for info in store.get_file_info(pafs.FileSelector(folder)):
        if info.extension == "parquet":
            with store.open_input_file(info.path) as file:
                footer = pq.read_metadata(file)
            if not footer.num_rows:  # Spark writes at least one file
                store.delete_file(info.path)
                continue
            statistics = json.dumps(_statistics(footer, wanted))
            actions.append(AddAction(info.path, info.size, values, now_ms, data_change, stats=statistics))
    return actions


def discard(table: DeltaTable, files: Iterable[AddAction]) -> None:
    """Deletes files whose commit was refused, so that no version will ever reference them.

    Their folders are deleted: they have no files of other writers, and Hadoop leaves a checksum next to each file.
    """
    store = store_of(table.table_uri)
    for folder in {file.path.rpartition("/")[0] for file in files}:
        store.delete_dir(folder)


def folder_of(table: DeltaTable) -> str:
    """Returns the folder of a table in Hadoop's notation: local paths are not percent-encoded."""
    path = local(table.table_uri)
    return f"file:{path}" if path else table.table_uri.rstrip("/")


def store_of(uri: str) -> pafs.FileSystem:
    """Returns the file system of a table; paths are relative to its folder."""
    return pafs.PyFileSystem(DeltaStorageHandler(uri))


def _columns_with_statistics(table: DeltaTable) -> set[str]:
    """Returns the columns whose statistics the log has: those that a property of the table lists, by default all."""
    names = table.metadata().configuration.get(STATISTICS)
    return {*names.split(",")} if names else {column.name for column in table.schema().fields}


def _statistics(footer: pq.FileMetaData, wanted: set[str]) -> dict[str, Any]:
    """Returns the statistics of a file, in the form of Delta's log."""
    lowest, highest, nulls = dict[str, Any](), dict[str, Any](), dict[str, int]()
    # A row group without rows has no statistics.
    groups = [group for group in map(footer.row_group, range(footer.num_row_groups)) if group.num_rows]
    # By paths: the fields of a nested column may have the names of other columns.
    for index, name in enumerate(footer.schema.column(column).path for column in range(footer.num_columns)):
        if name not in wanted:
            continue
        stats = [group.column(index).statistics for group in groups]
        if all(each is not None and each.has_null_count for each in stats):
            nulls[name] = sum(each.null_count for each in stats)
        # A row group of nulls alone has no bounds.
        bounded = [each for each in stats if each is None or each.null_count < each.num_values + each.null_count]
        if bounded and all(each is not None and each.has_min_max for each in bounded):
            with suppress(OverflowError):  # a window that ends in the year 10000, which Python does not have
                least, most = min(each.min for each in bounded), max(each.max for each in bounded)
                # Delta has no bounds of these; and of decimals none that Python's numbers in JSON are sure to be.
                if not isinstance(least, bytes | bool | Decimal):
                    lowest[name], highest[name] = _as_log_value(least), _as_log_value(most)
    return {"numRecords": footer.num_rows, "minValues": lowest, "maxValues": highest, "nullCount": nulls}


def _as_log_value(value: Any) -> Any:
    if isinstance(value, datetime):  # all our times are whole milliseconds, like those of the log
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else value
