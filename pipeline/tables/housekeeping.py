"""Removes rows and files that are no longer needed, and merges small files, while batches continue."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from deltalake import DeltaTable, Transaction

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.tables.files import store_of
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.merging import merge_small_files as merge
from tidemark.pipeline.tables.query import rows_of
from tidemark.pipeline.tables.schemas import (
    DEAD_LETTERS,
    EVENT_IDS,
    PANES,
    USER_TOTALS,
    TableSpec,
    find_table,
    is_table,
    result_of,
)
from tidemark.pipeline.tables.transactions import (
    CLOSED_APP,
    DROPPED_APP,
    FENCED_BY_0_1_0_APP,
    VACUUM_APP,
    WRITTEN_APP,
)
from tidemark.pipeline.tuning import STANDARD

_FILE_BYTES: Final = 64 * 1024 * 1024
_VACUUM_SECONDS: Final = 3600
_UNREFERENCED_HOURS: Final = 24
"""Longer than any writer takes from writing a file to committing it."""
_PANE_STARTS_SQL: Final = "SELECT DISTINCT report, pane_start FROM panes"


def take_over(warehouse: str, reports: Iterable[Report], opened_by: int, closed: Mapping[str, int] | None) -> None:
    """Fences every table for the epoch that batch `opened_by` opens: older processes can no longer write to it.

    `reports` are all reports with a table. After a reset of the watermark, `closed` has by report the end up to which
    its windows are final; otherwise it is None. Raises Replaced if a newer epoch has fenced a table.
    """
    for spec in (PANES, DEAD_LETTERS, EVENT_IDS):
        if is_table(uri := spec.uri(warehouse)):
            Handle(uri).fence(opened_by, Transaction(WRITTEN_APP, opened_by), Transaction(FENCED_BY_0_1_0_APP, 0))
    for report in reports:
        # A transaction's version is no less than 0, and no window ends before 1970.
        lowered = [Transaction(CLOSED_APP, max(0, closed[report.name]))] if closed and report.windows.by_time else []
        Handle(result_of(report).uri(warehouse)).fence(opened_by, *lowered)
    if is_table(uri := USER_TOTALS.uri(warehouse)):
        Handle(uri).fence(opened_by)


def remove_uncommitted(warehouse: str, last_batch: int, opened_by: int) -> None:
    """Removes the rows of batches that were never committed: after `last_batch` and before `opened_by`.

    The tables are fenced for the epoch that `opened_by` opens, so no such rows come later. Raises Replaced.
    """
    for spec in (PANES, DEAD_LETTERS, EVENT_IDS):
        if is_table(uri := spec.uri(warehouse)):
            handle = Handle(uri)
            while not handle.remove(f"{c.BATCH} > {last_batch} AND {c.BATCH} < {opened_by}", by=opened_by):
                pass


def remove_panes(warehouse: str, ends: Mapping[str, int], opened_by: int) -> None:
    """Removes all panes of some reports; batch `opened_by` opens the epoch. Raises Replaced.

    `ends` has by report the latest end of a published window, in milliseconds.
    """
    handle = Handle(PANES.uri(warehouse))
    for name, end in ends.items():
        dropped = [Transaction(f"{DROPPED_APP}{name}", end)]
        while not handle.remove(f"{c.REPORT} = '{name}'", by=opened_by, transactions=dropped):
            pass


def merge_small_files(warehouse: str, spec: TableSpec, batch: int, many_files: int = STANDARD.small_files) -> None:
    """Merges `many_files` small files of a table, so that files stay in proportion to the rows. Raises Replaced."""
    if not spec.partition_by:  # compaction merges the files of partitioned tables
        merge(Handle(spec.uri(warehouse)), _FILE_BYTES, many_files, by=batch)


def shorten_log(warehouse: str, spec: TableSpec) -> None:
    """Removes entries of a table's log that no version within its retention needs: each commit lists the rest."""
    if table := find_table(spec.name, warehouse):
        table.cleanup_metadata()


def remove_dead_files(warehouse: str, spec: TableSpec) -> None:
    """Removes files that no version within the retention of a table needs, at most once an hour."""
    handle, now = Handle(spec.uri(warehouse)), int(time.time())
    if now - handle.last(VACUUM_APP) >= _VACUUM_SECONDS:
        _remove_unreferenced(handle.table)
        handle.vacuum(transactions=[Transaction(VACUUM_APP, now)])


def _remove_unreferenced(table: DeltaTable) -> None:
    """Removes files older than a day that no commit references: their writer died before its commit."""
    gone, gone_or_unreferenced = (
        {*table.vacuum(_UNREFERENCED_HOURS, enforce_retention_duration=False, full=full)} for full in (False, True)
    )
    store = store_of(table.table_uri)
    for path in sorted(gone_or_unreferenced - gone):
        store.delete_file(path)


def pane_starts(warehouse: str) -> dict[str, set[int]]:
    """Returns by report the start of every pane that has rows, in milliseconds."""
    starts = defaultdict[str, set[int]](set)
    for row in rows_of(_PANE_STARTS_SQL, panes=DeltaTable(PANES.uri(warehouse))):
        starts[row[c.REPORT]].add(row[c.PANE_START])
    return starts
