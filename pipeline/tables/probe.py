"""Tests whether a store supports conditional writes: only one of several commits of the same version may succeed.

Everything depends on this. A local file system does it by a link. An object store must refuse a conditional PUT
(`If-None-Match: *`) of an existing object; some ignore the header and report success.
"""

import shutil
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier
from typing import Final

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.fs import DeltaStorageHandler

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.tables.dictionary import About
from tidemark.pipeline.tables.durable import local
from tidemark.pipeline.tables.handle import create_table
from tidemark.pipeline.tables.schemas import TableSpec

_AT_ONCE: Final = 8
_ABOUT: Final = About("a writer", ("writer",), "never", "all of it", {"writer": "its number"})
_ROWS: Final = pa.table({"writer": pa.array([0], pa.int64())})


def require_conditional_writes(warehouse: str) -> None:
    """Probes the store of a warehouse, unless it is a local file system."""
    if local(warehouse) is None:
        probe(warehouse)


def probe(warehouse: str) -> None:
    """Has several writers commit the same version of a temporary table.

    Raises Unreachable if the warehouse cannot be written, SetUpError if more than one of them succeeds.
    """
    spec = TableSpec(f"_probe-{uuid.uuid4().hex}", _ROWS.schema, _ABOUT, {})
    try:
        create_table(spec, warehouse)
        winners = _winners(spec.uri(warehouse))
    finally:
        _remove(spec, warehouse)
    if winners != 1:
        raise SetUpError(
            f"the store of the warehouse {warehouse} let {winners} of {_AT_ONCE} writers commit the same version of a "
            "table, and must let only one: it needs conditional writes (PUT with If-None-Match: *), and no "
            "variable like AWS_CONDITIONAL_PUT or AWS_S3_ALLOW_UNSAFE_RENAME that turns them off"
        )


def _winners(uri: str) -> int:
    """Returns the number of concurrent writers whose commit succeeded."""
    start = Barrier(_AT_ONCE)
    properties = CommitProperties(max_commit_retries=0)

    def write(table: DeltaTable) -> bool:
        start.wait()
        try:
            write_deltalake(table, _ROWS, mode="append", commit_properties=properties)
        except CommitFailedError:
            return False
        return True

    tables = [DeltaTable(uri) for _ in range(_AT_ONCE)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return sum(pool.map(write, tables))


def _remove(spec: TableSpec, warehouse: str) -> None:
    folder = local(spec.uri(warehouse))
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
        return
    with suppress(DeltaError, OSError):
        DeltaStorageHandler(warehouse).delete_dir(spec.name)
