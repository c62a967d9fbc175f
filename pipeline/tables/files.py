"""The data files of a table: which of them a question needs, and those that were written beside its log."""

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
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

from pipeline import instants
from pipeline.tables.durable import local
from pipeline.tables.file_statistics import told_of_files
from pipeline.tables.schemas import STATISTICS

_MERGED: Final = "merged"
"""Folder below a table for files into which rows of several files were merged."""
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
    """How many rows they have, by the log."""
    partition: Mapping[str, str] = field(default_factory=dict)
    """Values of partition columns, the same for all of them."""

    @property
    def uris(self) -> list[str]:
        """Where they are."""
        return [f"{self.folder}/{path}" for path in self.paths]

    def removed(self, *, data_change: bool = True) -> list[RemoveAction]:
        """Returns the actions that take them out of a table; `data_change` is false if their rows stay in it."""
        now_ms, values = instants.now_ms(), dict[str, str | None](self.partition)
        return [
            RemoveAction(path, data_change, now_ms, size=size, partition_values=values)
            for path, size in zip(self.paths, self.sizes, strict=True)
        ]


def files_of(table: DeltaTable, between: Bounds, **partition: str) -> Files:
    """The files that may have a row within these bounds, with these values of partition columns."""
    files = told_of_files(table, **partition)
    mays = [may for column, bounds in between.items() for may in _may_be_in(files, column, *bounds)]
    if mays:
        files = files.filter(reduce(pc.and_, mays))
    return files_in(table, files, partition)


def files_in(table: DeltaTable, files: pa.Table, partition: Mapping[str, str]) -> Files:
    """Returns the files of a table that some rows of its statistics describe, all with these partition values."""
    rows = pc.sum(files["num_records"]).as_py() or 0
    return Files(folder_of(table), files["path"].to_pylist(), files["size_bytes"].to_pylist(), rows, partition)


def _may_be_in(files: pa.Table, column: str, low: Any, high: Any) -> Iterator[pa.ChunkedArray]:
    """Whether the statistics leave it open; a file without any may have everything."""
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
    """Writes rows as a file of a partition, which no commit names yet. Without rows there is no file.

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
    """The actions of a commit that takes in the Parquet files in a folder below the table; one without rows is removed.

    All have these values of partition columns. Statistics are those of their footers, of the columns of which the
    table's other files have them.
    """
    store, wanted = store_of(table.table_uri), _with_statistics(table)
    found, now_ms, values = [], instants.now_ms(), dict[str, str | None](partition)
    for info in store.get_file_info(pafs.FileSelector(folder, recursive=True)):
        if info.extension == "parquet":
            with store.open_input_file(info.path) as file:
                footer = pq.read_metadata(file)
            if not footer.num_rows:  # Spark writes one at least
                store.delete_file(info.path)
                continue
            told = json.dumps(_statistics(footer, wanted))
            found.append(AddAction(info.path, info.size, values, now_ms, data_change, stats=told))
    return found


def discard(table: DeltaTable, files: Iterable[AddAction]) -> None:
    """Deletes files whose commit was refused, so that no version will ever name them.

    Their folders go, for no other writer has files there, and Hadoop leaves a checksum beside each file on a disk.
    """
    store = store_of(table.table_uri)
    for folder in {file.path.rpartition("/")[0] for file in files}:
        store.delete_dir(folder)


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
    # A group without rows has no statistics, which says nothing of the others.
    groups = [group for group in map(footer.row_group, range(footer.num_row_groups)) if group.num_rows]
    # By paths: the fields of a nested column may have the names of other columns.
    for place, name in enumerate(footer.schema.column(index).path for index in range(footer.num_columns)):
        if name not in wanted:
            continue
        parts = [group.column(place).statistics for group in groups]
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
