"""The invariants of a warehouse, and `verify`, which checks all of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.tables.ledger import require_warehouse
from tidemark.pipeline.tables.schemas import CORRECTIONS, DEAD_LETTERS, EVENT_IDS, LEDGER, PANES
from tidemark.pipeline.verifier import (
    conservation,
    copied_tables,
    fired_windows,
    ledger_balance,
    offset_continuity,
    rejected_records,
    result_sums,
    table_files,
    unique_events,
    watermark_order,
)
from tidemark.pipeline.verifier.query_engines import Connect, DataFusion
from tidemark.pipeline.verifier.verification import Finding, Verification
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot, first_line, read

_MOST_READS: Final = 3
"""Attempts to find all tables unchanged by others, before violations are reported."""
_MOST_READS_OF_FILES: Final = 30
"""Attempts before files are reported as missing: an erasure removes the files of each of its commits."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """A condition that always holds, and the tables besides the ledger that its check reads."""

    name: str
    check: Callable[[WarehouseSnapshot, Finding], None]
    needs: tuple[str, ...] = ()


INVARIANTS: Final[tuple[Invariant, ...]] = (
    Invariant("ledger balances", ledger_balance.check),
    Invariant("offsets are contiguous", offset_continuity.check),
    Invariant("watermark never goes back", watermark_order.check),
    Invariant("dead letters match rejections", rejected_records.check, (DEAD_LETTERS.name,)),
    Invariant("results equal their panes", result_sums.check, (PANES.name, DEAD_LETTERS.name, CORRECTIONS.name)),
    Invariant("windows have fired, once", fired_windows.check, (CORRECTIONS.name,)),
    Invariant("counted events are conserved", conservation.check, (PANES.name, DEAD_LETTERS.name, CORRECTIONS.name)),
    Invariant("events are counted once", unique_events.check, (EVENT_IDS.name,)),
    Invariant("tables are of one time", copied_tables.check),
)


def verify(warehouse: str, *, hides_values: bool = False, connect: Connect = DataFusion) -> Verification:
    """Checks every invariant of a warehouse, which it does not change. Raises SetUpError if there is no warehouse.

    With `hides_values` sentences have the names of columns instead of values of events. `connect` returns the engine.

    The warehouse may be in use: rows of batches that the ledger did not have when it was read are uncommitted, and
    windows that are not published yet become notes; neither is a violation. The tables are opened one after another,
    so a violation may come from a commit in between, and a missing file from an erasure: if a table has changed, all
    of them are read and checked again, and also if a store refuses to open a table, which may be for a moment.
    """
    require_warehouse(warehouse)
    reads = 0
    while True:
        tables, reads = read(warehouse), reads + 1
        try:
            verification = _verify(tables, connect, hides_values=hides_values)
        except SetUpError:
            if reads >= _MOST_READS_OF_FILES or tables.is_current():
                raise
            continue
        most = _MOST_READS_OF_FILES if verification.findings[-1].violation_count else _MOST_READS
        has_settled = tables.is_current() and (reads >= _MOST_READS or not tables.unreadable)
        if verification.is_sound or reads >= most or has_settled:
            return verification


def _verify(tables: WarehouseSnapshot, connect: Connect, *, hides_values: bool) -> Verification:
    intact = Finding("tables are intact", hides_values=hides_values)
    damaged = table_files.check(tables, intact)
    readable = tables.without(damaged, connect)
    findings = (check_invariant(invariant, readable, damaged, hides_values=hides_values) for invariant in INVARIANTS)
    return Verification(tables.warehouse, (*findings, intact))


def check_invariant(
    invariant: Invariant, tables: WarehouseSnapshot, damaged: set[str], *, hides_values: bool = False
) -> Finding:
    """Checks one invariant, unless a table that it needs is damaged."""
    finding = Finding(invariant.name, hides_values=hides_values)
    if missing := sorted(damaged.intersection((LEDGER.name, *invariant.needs))):
        finding.note(f"not checked: {', '.join(missing)} is damaged")
        return finding
    try:
        invariant.check(tables, finding)
    except (OSError, pa.ArrowInvalid) as error:
        raise SetUpError(f"the warehouse {tables.warehouse} cannot be read: {first_line(error)}. Try again") from error
    return finding
