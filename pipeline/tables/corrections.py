"""Corrections: too-late events that were added to closed windows afterwards, each once.

The table is a log like the ledger: what stands in it is decided, by a compare-and-swap. A report's table carries the
number of the last correction that was added to it, in the same commit as its rows; so whoever comes after a process
that died adds what is missing, and nothing twice.
"""

import time
from collections.abc import Sequence
from functools import partial
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable, Transaction, write_deltalake

from pipeline import columns as c
from pipeline.errors import TransientError
from pipeline.event_time import lateness
from pipeline.event_time.lateness import Sql
from pipeline.tables.query import Row, query, rows_of
from pipeline.tables.results.cells import corrected
from pipeline.tables.results.kind import WindowKind
from pipeline.tables.results.measures import shown_anew
from pipeline.tables.results.result_table import utc
from pipeline.tables.retention import removed
from pipeline.tables.schemas import CORRECTED_APP, CORRECTIONS, open_table
from pipeline.tables.swap import attempt, swap

_ATTEMPTS: Final = 10


class Corrections:
    """The log of corrections of a warehouse."""

    def __init__(self, warehouse: str) -> None:
        self._warehouse = warehouse
        self._table = open_table(CORRECTIONS, warehouse)

    def known(self) -> set[tuple[str, str, int, int]]:
        """Report and record position (topic, partition, offset) of every event that was corrected."""
        self._table.update_incremental()
        rows = self._ask('SELECT DISTINCT report, topic, partition, "offset" FROM corrections')
        return {(row[c.REPORT], row[c.TOPIC], row[c.PARTITION], row[c.OFFSET]) for row in rows}

    def decide(self, rows: Sequence[Row]) -> bool:
        """Writes the next correction; False if another came first: then what is `known` has changed."""
        newest = self._ask("SELECT max(correction) AS last FROM corrections")[0]["last"] or 0
        # The newest may have been erased: its number means what tables have, and is not given again.
        number = max(newest, self._table.transaction_version(CORRECTED_APP) or 0) + 1
        fixed = {"correction": number, "corrected_at": time.time_ns() // 1_000_000}
        data = pa.Table.from_pylist([{**row, **fixed} for row in rows], schema=CORRECTIONS.schema)
        return swap(self._table, data, None, [Transaction(CORRECTED_APP, number)])

    def apply(self, kind: WindowKind) -> None:
        """Adds to a report's table every correction that it does not have yet."""
        table = DeltaTable(kind.spec.uri(self._warehouse))
        alone = dict.fromkeys(one.part for one in kind.report.tells if one.part.corrected != one.part.name)
        told = "".join(f", {part.corrected} AS {part.name}" for part in alone)
        for _ in range(_ATTEMPTS):
            self._table.update_incremental()  # a person may have been erased
            last = table.transaction_version(CORRECTED_APP) or 0
            rows = self._ask(
                f"SELECT *{told} FROM corrections WHERE report = '{kind.name}' AND correction > {last} "  # noqa: S608 - ours
                # What was removed by age would come back with these events alone.
                f"AND window_end_ms > {removed(table)}"
            )
            if not rows or _apply(table, kind, rows):
                return
        raise TransientError(
            f"the service writes {kind.name} without a pause: the corrections are decided, and the next run adds them"
        )

    def _ask(self, sql: str) -> list[Row]:
        return rows_of(sql, corrections=self._table)


def _apply(table: DeltaTable, kind: WindowKind, rows: Sequence[Row]) -> bool:
    """Replaces the windows that the corrections change; False if somebody else wrote them meanwhile."""
    closed_until = Sql(f"'{utc(max(row[c.CLOSED_UNTIL] for row in rows))}'")
    spans = [(row[c.WINDOW_START_MS], row[c.WINDOW_END_MS]) for row in rows]
    closed = f"({kind.touched(spans)}) AND {lateness.is_closed(Sql(c.WINDOW_END), closed_until)}"
    schema = kind.spec.schema
    shown = query(f"SELECT * FROM it WHERE {closed}", it=table).select(schema.names).cast(schema).to_pylist()  # noqa: S608 - ours
    found = corrected(shown, rows, kind.report, grows=kind.grows)
    data = shown_anew(pa.Table.from_pylist(found, schema=schema), kind.report)
    write = partial(write_deltalake, table, data, mode="overwrite", predicate=closed)
    # What the service publishes meanwhile are other windows.
    done = Transaction(CORRECTED_APP, max(row["correction"] for row in rows))
    return attempt(table, write, [done], retries=_ATTEMPTS)
