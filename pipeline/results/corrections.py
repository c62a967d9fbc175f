"""Corrections: too-late events that are added to closed windows afterwards, each once.

The table is a log like the ledger: a correction is decided once its compare-and-swap commit has landed. The table of a
report records the id of the last correction in the same commit as the rows, so after a process died the next run adds
the missing corrections, and no correction twice.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Final, NamedTuple

import pyarrow as pa
from deltalake import DeltaTable, Transaction

from tidemark.pipeline import columns as c
from tidemark.pipeline import instants
from tidemark.pipeline.errors import TransientError
from tidemark.pipeline.event_time import lateness
from tidemark.pipeline.event_time.lateness import Sql
from tidemark.pipeline.event_time.windows.base import Window
from tidemark.pipeline.instants import utc_sql
from tidemark.pipeline.results.applied import corrections_of, with_corrections
from tidemark.pipeline.results.result_kind import WindowKind
from tidemark.pipeline.results.retention import removed_until
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.query import Row, query, rows_of
from tidemark.pipeline.tables.schemas import CORRECTIONS, find_table
from tidemark.pipeline.tables.transactions import CLOSED_APP, CORRECTED_APP

_ATTEMPTS: Final = 10
_RETRIES: Final = 10


class CorrectedEvent(NamedTuple):
    """An event that was added to a report, by its record position in Kafka."""

    report: str
    topic: str
    partition: int
    offset: int


class Corrections:
    """The log of corrections of a warehouse."""

    def __init__(self, warehouse: str) -> None:
        self._warehouse = warehouse
        self._handle = Handle.of(CORRECTIONS, warehouse)

    def known(self) -> set[CorrectedEvent]:
        """Returns all events that were corrected."""
        self._handle.refresh()
        return _corrected_events(self._handle.table)

    def append_next(self, rows: Sequence[Row]) -> bool:
        """Appends the next correction. Returns False if another came first: then the result of `known` has changed."""
        newest = (
            rows_of("SELECT max(correction) AS last FROM corrections", corrections=self._handle.table)[0]["last"] or 0
        )
        # The newest correction may have been erased. Its id is not reused, because tables record that it was added.
        correction_id = max(newest, self._handle.last(CORRECTED_APP)) + 1
        fixed = {"correction": correction_id, "corrected_at": instants.now_ms()}
        existing = {field.name for field in self._handle.table.schema().fields}
        # A table of an older version lacks the columns of dimensions, until a service with dimensions has started.
        schema = pa.schema([field for field in CORRECTIONS.schema if field.name in existing])
        data = pa.Table.from_pylist([{**row, **fixed} for row in rows], schema=schema)
        return self._handle.swap(data, by=None, transactions=[Transaction(CORRECTED_APP, correction_id)])

    def apply(self, kind: WindowKind[Any]) -> None:
        """Adds the missing corrections of closed windows to a report's table.

        A correction waits while its window is open again after a reset of the watermark, and later corrections wait
        with it. Raises TransientError if other commits always come first.
        """
        handle = Handle(kind.spec.uri(self._warehouse))
        for _ in range(_ATTEMPTS):
            # The table is read first: erasures and resets of the watermark commit to it last.
            rows = self._missing(kind, handle.table)
            if not rows or _apply(handle, kind, rows):
                return
        raise TransientError(
            f"other commits to {kind.name} always came first: the corrections are decided, and the next run adds them"
        )

    def _missing(self, kind: WindowKind[Any], table: DeltaTable) -> list[Row]:
        """Returns the next corrections that are not in the table, up to the first whose window is not closed."""
        self._handle.refresh()
        last, closed_until = (table.transaction_version(app) or 0 for app in (CORRECTED_APP, CLOSED_APP))
        rows = corrections_of(kind.report, self._handle.table, f"correction > {last}")
        open_from = min((row["correction"] for row in rows if not _is_closed(row, closed_until)), default=None)
        return [*takewhile(lambda row: row["correction"] != open_from, rows)]


def known_corrections(warehouse: str) -> set[CorrectedEvent]:
    """Returns all events that were corrected. Unlike `Corrections`, creates no table."""
    table = find_table(CORRECTIONS.name, warehouse)
    return set() if table is None else _corrected_events(table)


def _corrected_events(corrections: DeltaTable) -> set[CorrectedEvent]:
    rows = rows_of('SELECT DISTINCT report, topic, partition, "offset" FROM corrections', corrections=corrections)
    return {CorrectedEvent(row[c.REPORT], row[c.TOPIC], row[c.PARTITION], row[c.OFFSET]) for row in rows}


def _is_closed(row: Row, closed_until: int) -> bool:
    return bool(lateness.is_closed(row[c.WINDOW_END_MS], closed_until))


def _apply(handle: Handle, kind: WindowKind[Any], missing: Sequence[Row]) -> bool:
    """Replaces the windows that the corrections change; False if another commit came first."""
    versions = [Transaction(CORRECTED_APP, missing[-1]["correction"]), handle.amending()]
    # A row that was removed by age would return with these events only.
    rows = [row for row in missing if row[c.WINDOW_END_MS] > removed_until(handle.table)]
    if not rows:
        return handle.swap(kind.spec.schema.empty_table(), by=None, transactions=versions)
    closed_until = Sql(utc_sql(handle.last(CLOSED_APP)))
    windows = [Window(row[c.WINDOW_START_MS], row[c.WINDOW_END_MS]) for row in rows]
    closed = f"({kind.touched_sql(windows)}) AND {lateness.is_closed(Sql(c.WINDOW_END), closed_until)}"
    before = query(f"SELECT * FROM result WHERE {closed}", result=handle.table)  # noqa: S608 - ours
    data = with_corrections(before, rows, kind.report, grows=kind.grows)
    # Retries are safe: the service publishes other windows meanwhile.
    return handle.swap(data, closed, by=None, transactions=versions, retries=_RETRIES)
