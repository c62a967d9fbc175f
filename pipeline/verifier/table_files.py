"""Invariant 9: every table is intact: its log, its files, their sizes and numbers of rows, and its columns."""

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

from tidemark.command_line.counts import counted
from tidemark.pipeline.event_time.dimensions import STORED
from tidemark.pipeline.event_time.field_measures import NUMBERS, SKETCHES, TEXTS
from tidemark.pipeline.tables.schemas import CORRECTIONS, LEDGER, OWN, PANES, USER_TOTALS, result_of
from tidemark.pipeline.verifier.published_results import definition
from tidemark.pipeline.verifier.verification import Finding, Row
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot, first_line

_FIXED: Final = {spec.name: spec for spec in (*OWN, USER_TOTALS)}
_LATER: Final = {
    (LEDGER.name, "duplicate"),
    (LEDGER.name, "erased"),
    (LEDGER.name, "left_out"),
    *((LEDGER.name, column) for column in ("arrived_before", "first_arrival", "last_arrival", "unsettled")),
    (PANES.name, "events"),
    (USER_TOTALS.name, "bucket"),
    *((spec.name, column) for spec in (PANES, CORRECTIONS) for column in (*STORED, *NUMBERS, *TEXTS, *SKETCHES)),
}
"""Columns that a table of an older version lacks until a service has opened the warehouse."""
_LOG: Final = "_delta_log"
_AT_ONCE: Final = 16


def check(tables: WarehouseSnapshot, finding: Finding) -> set[str]:
    """Checks each table; returns the names of the damaged ones, which cannot be queried."""
    damaged = {*tables.unreadable}
    for name in (*tables.handles, *tables.unreadable):
        before = finding.violation_count
        try:
            store = pafs.PyFileSystem(DeltaStorageHandler(tables.uri(name)))
        except DeltaError as error:
            finding.report(f"{name}: there are 0 files of the table: ", first_line(error))
            continue
        _check_log(name, store, tables.handles.get(name), finding)
        if name in tables.unreadable:
            if finding.violation_count == before:
                finding.report(f"{name}: the table cannot be opened: ", tables.unreadable[name])
            continue
        _check_schema(name, tables, finding)
        _check_files(name, store, tables.handles[name], finding)
        if finding.violation_count > before:
            damaged.add(name)
    return damaged


def _check_log(name: str, store: pafs.FileSystem, handle: DeltaTable | None, finding: Finding) -> None:
    """Checks that the log has all entries after its last checkpoint, and that each can be read."""
    try:
        names = [info.base_name for info in store.get_file_info(pafs.FileSelector(_LOG))]
    except OSError as error:
        finding.report(f"{name}: the log cannot be listed: ", first_line(error))
        return
    checkpoint = max(
        (int(file[:20]) for file in names if re.fullmatch(r"\d{20}\.checkpoint.*\.parquet", file)), default=-1
    )
    versions = sorted(int(file[:20]) for file in names if re.fullmatch(r"\d{20}\.json", file))
    # Entries that were added since the table was opened are not checked.
    last = handle.version() if handle else max(versions, default=checkpoint)
    expected = range(checkpoint + 1, last + 1)
    missing = sorted({*expected} - {*versions})
    for version in missing:
        finding.report(f"{name}: the log has no entry {version}, though it has others from {checkpoint + 1} to {last}")
    if last < 0:
        finding.report(f"{name}: the log has 0 entries, but must have 1 at least")
    for version in sorted({*expected} - {*missing}):
        _check_entry(name, version, store, finding)
    finding.count(len(expected) - len(missing), "log entry", "log entries")


def _check_entry(name: str, version: int, store: pafs.FileSystem, finding: Finding) -> None:
    with store.open_input_file(f"{_LOG}/{version:020}.json") as file:
        text = file.read()
    lines = [line for line in text.split(b"\n") if line.strip()]
    try:
        is_valid = bool(lines) and all(isinstance(json.loads(line), dict) for line in lines)
    except ValueError:
        is_valid = False
    if not is_valid:
        size = f"{counted(len(text), 'byte')}, {counted(len(lines), 'line')}"
        finding.report(f"{name}: entry {version} of the log is no list of actions: {size}")


def _check_schema(name: str, tables: WarehouseSnapshot, finding: Finding) -> None:
    try:
        spec = _FIXED.get(name) or result_of(definition(name, tables))
    except (ValueError, KeyError, TypeError) as error:
        finding.report(f"{name}: the table does not store its report ", f"({type(error).__name__}: {error})")
        return
    handle = tables.handles[name]
    stored = {field.name: field.type for field in pa.schema(handle.schema().to_arrow())}
    expected = {field.name: field.type for field in spec.schema}
    expected = {column: kind for column, kind in expected.items() if column in stored or (name, column) not in _LATER}
    for column in [column for column in {**stored, **expected} if stored.get(column) != expected.get(column)]:
        actual, required = (columns.get(column, "absent") for columns in (stored, expected))
        finding.report(f"{name}: column {column} is {actual}, but must be {required}")
    actual_by = handle.metadata().partition_columns
    expected_by = [column for column in spec.partition_by if column in expected]
    if actual_by != expected_by:
        finding.report(f"{name}: the table is partitioned by {actual_by}, but must be by {expected_by}")


def _check_files(name: str, store: pafs.FileSystem, handle: DeltaTable, finding: Finding) -> None:
    """Checks that each file of the snapshot exists with the size and the number of rows that the log has."""
    files = pa.table(handle.get_add_actions()).select(["path", "size_bytes", "num_records"]).to_pylist()
    finding.count(1, "table")
    finding.count(len(files), "data file")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for sentence in pool.map(lambda row: _file_violation(name, row, store), files):
            if sentence:
                finding.report(*sentence)


def _file_violation(name: str, row: Row, store: pafs.FileSystem) -> tuple[str, str] | None:
    """Returns a violation of a file, and the error of reading it."""
    path = unquote(row["path"])
    info = store.get_file_info(path)
    if info.type is not pafs.FileType.File:
        return f"{name}: the file {path} of {counted(row['size_bytes'], 'byte')} does not exist", ""
    if info.size != row["size_bytes"]:
        return f"{name}: the file {path} has {counted(info.size, 'byte')}, but the log has {row['size_bytes']}", ""
    try:
        with store.open_input_file(path) as file:
            rows = pq.read_metadata(file).num_rows
    except (OSError, pa.ArrowException) as error:
        return f"{name}: the file {path} is no Parquet of {counted(row['size_bytes'], 'byte')}: ", first_line(error)
    if row["num_records"] is not None and rows != row["num_records"]:
        return f"{name}: the file {path} has {counted(rows, 'row')}, but the log has {row['num_records']}", ""
    return None
