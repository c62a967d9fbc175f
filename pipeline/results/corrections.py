"""Corrections: too-late events that were added to closed windows afterwards, each once.

The table is a log like the ledger: what it has is decided, by a compare-and-swap. A report's table records the number
of the last correction that was added to it, in the same commit as its rows; so whoever comes after a process that died
adds what is missing, and nothing twice.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Final

import pyarrow as pa
from deltalake import DeltaTable, Transaction

from pipeline import columns as c
from pipeline import instants
from pipeline.errors import TransientError
from pipeline.event_time import lateness
from pipeline.event_time.lateness import Sql
from pipeline.instants import utc
from pipeline.results.applied import corrections_of, with_corrections
from pipeline.results.result_kind import WindowKind
from pipeline.results.retention import removed
from pipeline.tables.handle import Handle
from pipeline.tables.query import Row, query, rows_of
from pipeline.tables.schemas import CORRECTIONS
from pipeline.tables.transactions import CLOSED_APP, CORRECTED_APP

_ATTEMPTS: Final = 10
_RETRIES: Final = 10


class Corrections:
    """The log of corrections of a warehouse."""

    def __init__(self, warehouse: str) -> None:
        self._warehouse = warehouse
        self._handle = Handle.of(CORRECTIONS, warehouse)

    def known(self) -> set[tuple[str, str, int, int]]:
        """Returns report and record position (topic, partition, offset) of every event that was corrected."""
        self._handle.refresh()
        rows = rows_of('SELECT DISTINCT report, topic, partition, "offset" FROM it', it=self._handle.table)
        return {(row[c.REPORT], row[c.TOPIC], row[c.PARTITION], row[c.OFFSET]) for row in rows}

    def append_next(self, rows: Sequence[Row]) -> bool:
        """Appends the next correction; False if another came first: then what is `known` has changed."""
        newest = rows_of("SELECT max(correction) AS last FROM it", it=self._handle.table)[0]["last"] or 0
        # The newest may have been erased: its number means what tables have, and is not given again.
        number = max(newest, self._handle.last(CORRECTED_APP)) + 1
        fixed = {"correction": number, "corrected_at": instants.now_ms()}
        data = pa.Table.from_pylist([{**row, **fixed} for row in rows], schema=CORRECTIONS.schema)
        return self._handle.swap(data, by=None, transactions=[Transaction(CORRECTED_APP, number)])

    def apply(self, kind: WindowKind[Any]) -> None:
        """Adds to a report's table every correction that it does not have yet, of windows that are closed.

        A correction waits for a window that is open again, because its watermark was reset, and later ones wait with
        it. Raises TransientError if other commits always come first.
        """
        handle = Handle(kind.spec.uri(self._warehouse))
        for _ in range(_ATTEMPTS):
            # The table first: who removes corrections, or opens windows again, commits to it afterwards.
            rows = self._missing(kind, handle.table)
            if not rows or _apply(handle, kind, rows):
                return
        raise TransientError(
            f"other commits to {kind.name} always came first: the corrections are decided, and the next run adds them"
        )

    def _missing(self, kind: WindowKind[Any], table: DeltaTable) -> list[Row]:
        """Returns the next corrections that the table does not have, up to one whose window is not closed."""
        self._handle.refresh()
        last, closed_until = (table.transaction_version(app) or 0 for app in (CORRECTED_APP, CLOSED_APP))
        rows = corrections_of(kind.report, self._handle.table, f"correction > {last}")
        open_from = min((row["correction"] for row in rows if not _is_closed(row, closed_until)), default=None)
        return [*takewhile(lambda row: row["correction"] != open_from, rows)]


def _is_closed(row: Row, closed_until: int) -> bool:
    return bool(lateness.is_closed(row[c.WINDOW_END_MS], closed_until))


def _apply(handle: Handle, kind: WindowKind[Any], missing: Sequence[Row]) -> bool:
    """Replaces the windows that the corrections change; False if another commit came first."""
    done = [Transaction(CORRECTED_APP, missing[-1]["correction"]), handle.amending()]
    # What was removed by age would come back with these events alone.
    rows = [row for row in missing if row[c.WINDOW_END_MS] > removed(handle.table)]
    if not rows:
        return handle.swap(kind.spec.schema.empty_table(), by=None, transactions=done)
    closed_until = Sql(f"'{utc(handle.last(CLOSED_APP))}'")
    spans = [(row[c.WINDOW_START_MS], row[c.WINDOW_END_MS]) for row in rows]
    closed = f"({kind.touched(spans)}) AND {lateness.is_closed(Sql(c.WINDOW_END), closed_until)}"
    shown = query(f"SELECT * FROM it WHERE {closed}", it=handle.table)  # noqa: S608 - ours
    data = with_corrections(shown, rows, kind.report, grows=kind.grows)
    # What the service publishes meanwhile are other windows.
    return handle.swap(data, closed, by=None, transactions=done, retries=_RETRIES)
