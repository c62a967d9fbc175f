"""Law 9: every table is whole: its log, its files, their sizes and numbers of rows, and its columns."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from deltalake.fs import DeltaStorageHandler

from pipeline.tables.schemas import LEDGER, OWN, USER_TOTALS, result_of
from pipeline.verifier.published_results import definition
from pipeline.verifier.verification import Finding
from pipeline.verifier.warehouse_snapshot import WarehouseSnapshot, first_line
from pipeline.verifier.wording import Row

_FIXED: Final = {spec.name: spec for spec in (*OWN, USER_TOTALS)}
_LATER: Final = {(LEDGER.name, "duplicate"), (LEDGER.name, "erased"), (USER_TOTALS.name, "bucket")}
"""Columns that a table of an older version lacks, until a service has opened the warehouse."""
_LOG: Final = "_delta_log"
_AT_ONCE: Final = 16


def check(tables: WarehouseSnapshot, finding: Finding) -> set[str]:
    """Table by table; returns the names of those from which nothing can be asked."""
    unsafe = {*tables.unreadable}
    for name in (*tables.handles, *tables.unreadable):
        before = finding.broken
        try:
            store = pafs.PyFileSystem(DeltaStorageHandler(tables.uri(name)))
        except DeltaError as error:
            finding.breach(f"{name}: there are 0 files of the table: {first_line(error)}")
            continue
        _check_log(name, store, tables.handles.get(name), finding)
        if name in tables.unreadable:
            if finding.broken == before:
                finding.breach(f"{name}: the table cannot be opened: {tables.unreadable[name]}")
            continue
        _check_schema(name, tables, finding)
        _check_files(name, store, tables.handles[name], finding)
        if finding.broken > before:
            unsafe.add(name)
    return unsafe


def _check_log(name: str, store: pafs.FileSystem, handle: DeltaTable | None, finding: Finding) -> None:
    """The entries after the last checkpoint are there without a hole, and each can be read."""
    try:
        found = [info.base_name for info in store.get_file_info(pafs.FileSelector(_LOG))]
    except OSError as error:
        finding.breach(f"{name}: the log cannot be listed: {first_line(error)}")
        return
    checkpoint = max(
        (int(one[:20]) for one in found if re.fullmatch(r"\d{20}\.checkpoint.*\.parquet", one)), default=-1
    )
    versions = sorted(int(one[:20]) for one in found if re.fullmatch(r"\d{20}\.json", one))
    # What came since the table was opened is another reader's concern.
    last = handle.version() if handle else max(versions, default=checkpoint)
    expected = range(checkpoint + 1, last + 1)
    missing = sorted({*expected} - {*versions})
    for version in missing:
        finding.breach(f"{name}: the log has no entry {version}, though it has others from {checkpoint + 1} to {last}")
    if last < 0:
        finding.breach(f"{name}: the log has 0 entries, but must have 1 at least")
    for version in sorted({*expected} - {*missing}):
        _check_entry(name, version, store, finding)
    finding.look(len(expected) - len(missing), "log entries")


def _check_entry(name: str, version: int, store: pafs.FileSystem, finding: Finding) -> None:
    with store.open_input_file(f"{_LOG}/{version:020}.json") as file:
        text = file.read()
    lines = [line for line in text.split(b"\n") if line.strip()]
    try:
        whole = bool(lines) and all(isinstance(json.loads(line), dict) for line in lines)
    except ValueError:
        whole = False
    if not whole:
        finding.breach(
            f"{name}: entry {version} of the log is no list of actions: {len(text)} bytes, {len(lines)} lines"
        )


def _check_schema(name: str, tables: WarehouseSnapshot, finding: Finding) -> None:
    try:
        spec = _FIXED.get(name) or result_of(definition(name, tables))
    except (ValueError, KeyError, TypeError) as error:
        finding.breach(f"{name}: the table does not tell of which report it is ({type(error).__name__}: {error})")
        return
    handle = tables.handles[name]
    found = {field.name: field.type for field in pa.schema(handle.schema().to_arrow())}
    wanted = {field.name: field.type for field in spec.schema}
    wanted = {column: kind for column, kind in wanted.items() if column in found or (name, column) not in _LATER}
    for column in [one for one in {**found, **wanted} if found.get(one) != wanted.get(one)]:
        told, must = (side.get(column, "not there") for side in (found, wanted))
        finding.breach(f"{name}: column {column} is {told}, but must be {must}")
    by, wanted_by = handle.metadata().partition_columns, [one for one in spec.partition_by if one in wanted]
    if by != wanted_by:
        finding.breach(f"{name}: the table is partitioned by {by}, but must be by {wanted_by}")


def _check_files(name: str, store: pafs.FileSystem, handle: DeltaTable, finding: Finding) -> None:
    """Each file that the snapshot names is there, as long and with as many rows as it says."""
    told = pa.table(handle.get_add_actions()).select(["path", "size_bytes", "num_records"]).to_pylist()
    finding.look(1, "tables")
    finding.look(len(told), "data files")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for sentence in pool.map(lambda row: _wrong(name, row, store), told):
            if sentence:
                finding.breach(sentence)


def _wrong(name: str, row: Row, store: pafs.FileSystem) -> str | None:
    path = unquote(row["path"])
    info = store.get_file_info(path)
    if info.type is not pafs.FileType.File:
        return f"{name}: the file {path} of {row['size_bytes']} bytes is not there (0 bytes)"
    if info.size != row["size_bytes"]:
        return f"{name}: the file {path} has {info.size} bytes, but the log says {row['size_bytes']}"
    try:
        with store.open_input_file(path) as file:
            rows = pq.read_metadata(file).num_rows
    except (OSError, pa.ArrowException) as error:
        return f"{name}: the file {path} is no Parquet of {row['size_bytes']} bytes: {first_line(error)}"
    if row["num_records"] is not None and rows != row["num_records"]:
        return f"{name}: the file {path} has {rows} rows, but the log says {row['num_records']}"
    return None
