"""Removing what no longer counts, and merging small files; done by delta-rs beside Spark's writes."""

import time
from collections import defaultdict
from collections.abc import Collection
from functools import partial
from typing import Final

from deltalake import CommitProperties, DeltaTable, Transaction

from pipeline import columns as c
from pipeline.tables.files import store_of
from pipeline.tables.query import rows_of
from pipeline.tables.schemas import (
    COMPACTION_APP,
    DEAD_LETTERS,
    EVENT_IDS,
    PANES,
    WRITER_APP,
    TableSpec,
    find_table,
    is_table,
)
from pipeline.tables.statistics import smaller_files
from pipeline.tables.swap import attempt, insist
from pipeline.tables.write import fence

_FILE_BYTES: Final = 64 * 1024 * 1024
_MANY_FILES: Final = 64
_VACUUM_APP: Final = "tidemark-vacuum"
"""Its version is when dead files were last removed, in seconds since the epoch."""
_VACUUM_SECONDS: Final = 3600
_LOOSE_HOURS: Final = 24
"""Longer than any writer takes from a file to the commit that names it."""
_PANE_STARTS: Final = "SELECT DISTINCT report, pane_start FROM panes"


def remove_void(warehouse: str, last_batch: int, number: int) -> None:
    """Removes what was written ahead of batches that were never committed: after `last_batch` and before `number`.

    `number` opens an epoch; the tables are fenced first, so nothing of the kind comes after. Raises Replaced.
    """
    ids = [EVENT_IDS] if is_table(EVENT_IDS.uri(warehouse)) else []
    for spec in (PANES, DEAD_LETTERS, *ids):
        table = _table(spec, warehouse)
        fence(table, spec.schema, number, WRITER_APP, COMPACTION_APP)
        insist(table, partial(table.delete, f"{c.BATCH} > {last_batch} AND {c.BATCH} < {number}"))


def remove_panes(warehouse: str, reports: Collection[str]) -> None:
    """Removes all panes of some reports."""
    table = _table(PANES, warehouse)
    for name in reports:
        insist(table, partial(table.delete, f"{c.REPORT} = '{name}'"))


def merge_small_files(warehouse: str, spec: TableSpec) -> None:
    """Keeps the number of a table's files in proportion to the rows."""
    if spec.partition_by:  # a file for each part, by its own rule
        return
    table = _table(spec, warehouse)
    if smaller_files(table, _FILE_BYTES) >= _MANY_FILES:
        attempt(table, partial(table.optimize.compact, target_size=_FILE_BYTES))


def shorten_log(warehouse: str, spec: TableSpec) -> None:
    """Removes entries of a table's log that no version within its retention needs; a commit lists all that are left."""
    if table := find_table(spec.name, warehouse):
        table.cleanup_metadata()


def remove_dead_files(warehouse: str, spec: TableSpec) -> None:
    """Removes files that no version within the retention of a table needs, where that was not done for an hour."""
    table, now = _table(spec, warehouse), int(time.time())
    if now - (table.transaction_version(_VACUUM_APP) or 0) >= _VACUUM_SECONDS:
        done = CommitProperties(app_transactions=[Transaction(_VACUUM_APP, now)])
        _remove_loose(table)
        table.vacuum(dry_run=False, commit_properties=done)


def _remove_loose(table: DeltaTable) -> None:
    """Removes files that no commit ever named: of a writer that was killed before it, a day ago."""
    gone, gone_or_loose = (
        {*table.vacuum(_LOOSE_HOURS, enforce_retention_duration=False, full=full)} for full in (False, True)
    )
    store = store_of(table.table_uri)
    for path in sorted(gone_or_loose - gone):
        store.delete_file(path)


def pane_starts(warehouse: str) -> dict[str, set[int]]:
    """The start of every pane there are rows of, by report; in milliseconds."""
    starts = defaultdict[str, set[int]](set)
    for row in rows_of(_PANE_STARTS, panes=_table(PANES, warehouse)):
        starts[row[c.REPORT]].add(row[c.PANE_START])
    return starts


def _table(spec: TableSpec, warehouse: str) -> DeltaTable:
    return DeltaTable(spec.uri(warehouse))
