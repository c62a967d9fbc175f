"""Removes files that no version needs, and files of refused commits that contain the user."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from deltalake import DeltaTable

from tidemark.pipeline.amend.erase.person import Person
from tidemark.pipeline.amend.erase.person_tables import PersonalTables
from tidemark.pipeline.tables.files import store_of
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.schemas import TableSpec

GRACE: Final = timedelta(minutes=10)
"""An unreferenced file may belong to a commit in progress. Clients of stores give up a commit long before this."""


def remove_files(tables: PersonalTables, person: Person, grace: timedelta = GRACE) -> list[datetime]:
    """Removes the files; returns the times of files with the user that are younger than `grace`, and so remain."""
    young = list[datetime]()
    for spec in tables.specs:
        handle = Handle(spec.uri(tables.warehouse))
        while not handle.vacuum(0):
            pass
        young += _remove_loose(spec, tables, person, datetime.now(UTC) - grace)
    return young


def _remove_loose(spec: TableSpec, tables: PersonalTables, person: Person, before: datetime) -> Iterator[datetime]:
    store = store_of(spec.uri(tables.warehouse))
    for info in _loose(spec, tables, store):
        if _has(store, info.path, person, tables.columns(spec)):
            if info.mtime > before:
                yield info.mtime
            else:
                store.delete_file(info.path)


def _loose(spec: TableSpec, tables: PersonalTables, store: pafs.FileSystem) -> list[pafs.FileInfo]:
    """Returns the data files that the newest version does not reference; they are listed before its log is read."""
    files = [file for file in store.get_file_info(pafs.FileSelector("", recursive=True)) if file.extension == "parquet"]
    paths = pa.table(DeltaTable(spec.uri(tables.warehouse)).get_add_actions())["path"].to_pylist()
    referenced = {unquote(path) for path in paths}
    return [file for file in files if unquote(file.path) not in referenced and not file.path.startswith("_delta_log")]


def _has(store: pafs.FileSystem, path: str, person: Person, columns: Sequence[str]) -> bool:
    try:
        with store.open_input_file(path) as file:
            data = pq.ParquetFile(file)
            wanted = [name for name in columns if name in data.schema_arrow.names]
            rows = data.read(wanted)
    except FileNotFoundError:
        return False
    except pa.ArrowInvalid:
        return True  # executors are writing it, or were when they ended: it may contain the user
    return any(
        person.is_in(value) if isinstance(value, bytes) else value == person.id
        for column in rows.columns
        for value in column.to_pylist()
    )
