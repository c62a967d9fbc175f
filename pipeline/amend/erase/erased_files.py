"""Files below the tables: what no version needs goes, and what a refused commit left with the person in it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from deltalake import DeltaTable

from pipeline import columns as c
from pipeline.amend.erase.person import Person
from pipeline.amend.erase.person_tables import Site
from pipeline.tables.files import store_of
from pipeline.tables.handle import Handle
from pipeline.tables.schemas import TableSpec

GRACE: Final = timedelta(minutes=10)
"""A file that no version names may be of a commit to come. Clients of stores give a commit up long before this."""


def remove_files(site: Site, person: Person, grace: timedelta = GRACE) -> list[datetime]:
    """Removes them; returns of each that has the person and is too young to be removed when it was written."""
    young = list[datetime]()
    for spec in site.specs:
        handle = Handle(spec.uri(site.warehouse))
        while not handle.vacuum(0):
            pass
        young += _remove_loose(spec, site, person, datetime.now(UTC) - grace)
    return young


def _remove_loose(spec: TableSpec, site: Site, person: Person, before: datetime) -> Iterator[datetime]:
    store = store_of(spec.uri(site.warehouse))
    for info in _loose(spec, site, store):
        if _has(store, info.path, person):
            if info.mtime > before:
                yield info.mtime
            else:
                store.delete_file(info.path)


def _loose(spec: TableSpec, site: Site, store: pafs.FileSystem) -> list[pafs.FileInfo]:
    """Files of data that the newest version does not name, listed before it is asked."""
    found = [one for one in store.get_file_info(pafs.FileSelector("", recursive=True)) if one.extension == "parquet"]
    named = pa.table(DeltaTable(spec.uri(site.warehouse)).get_add_actions())["path"].to_pylist()
    known = {unquote(path) for path in named}
    return [one for one in found if unquote(one.path) not in known and not one.path.startswith("_delta_log")]


def _has(store: pafs.FileSystem, path: str, person: Person) -> bool:
    try:
        with store.open_input_file(path) as file:
            data = pq.ParquetFile(file)
            wanted = [name for name in (c.USER_ID, c.KEY, c.VALUE) if name in data.schema_arrow.names]
            rows = data.read(wanted)
    except FileNotFoundError:
        return False
    except pa.ArrowInvalid:
        return True  # executors are writing it, or were when they ended: nobody can tell what is in it
    return any(
        person.is_in(value) if isinstance(value, bytes) else value == person.id
        for column in rows.columns
        for value in column.to_pylist()
    )
