"""Violations planted in tables that were sound."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from tests.verify.site import MINUTE, NOON
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.verifier.invariants import INVARIANTS, check_invariant, verify
from tidemark.pipeline.verifier.warehouse_snapshot import read

OF_LEDGER, OF_DEAD_LETTERS, OF_RESULTS = slice(0, 3), slice(3, 4), slice(4, 7)
BOUND = "panes and corrections have"
E = EPOCH
Row = dict[str, Any]
Rows = list[Row]
Break = tuple[str, str, Callable[[Rows], Rows], str]
"""The report of a warehouse, one of its tables, how that is broken, and the sentence that reports it."""


def at(minute: float) -> datetime:
    """A time after noon as a timestamp, which results have."""
    return datetime.fromtimestamp((NOON + minute * MINUTE) / 1000, UTC)


def ms(minute: float) -> int:
    """A time after noon in milliseconds since the epoch."""
    return NOON + round(minute * MINUTE)


def of_panes(report: str, **values: Any) -> Row:
    """Returns a condition for rows of `panes`: those of a report with these values."""
    return {"report": report, **values}


def alter(warehouse: Path, name: str, how: Callable[[Rows], Rows]) -> None:
    """Rewrites a table; its transaction versions stay."""
    table = DeltaTable(str(warehouse / name))
    schema = pa.schema(table.schema().to_arrow())
    rows = how(table.to_pyarrow_table().to_pylist())
    write_deltalake(table, pa.Table.from_pylist(rows, schema=schema), mode="overwrite")


def change(where: Mapping[str, Any], **values: Any) -> Callable[[Rows], Rows]:
    """Gives some rows other values."""

    def changed(rows: Rows) -> Rows:
        assert any(_is(row, where) for row in rows), rows
        return [row | values if _is(row, where) else row for row in rows]

    return changed


def drop(**where: Any) -> Callable[[Rows], Rows]:
    """Drops some rows."""

    def dropped(rows: Rows) -> Rows:
        assert any(_is(row, where) for row in rows), rows
        return [row for row in rows if not _is(row, where)]

    return dropped


def add(where: Mapping[str, Any], **values: Any) -> Callable[[Rows], Rows]:
    """Adds a copy of a row with other values."""

    def added(rows: Rows) -> Rows:
        found = next((row for row in rows if _is(row, where)), None)
        assert found is not None, rows
        return [*rows, found | values]

    return added


def sentences(warehouse: Path, invariants: slice) -> str:
    """Returns the violations of some of the invariants, a line each."""
    tables = read(str(warehouse))
    findings = [check_invariant(invariant, tables, set()) for invariant in INVARIANTS[invariants]]
    return "\n".join(violation for finding in findings for violation in finding.violations)


def assert_reported(broken: Break, copy: Callable[[str], Path]) -> None:
    """A violation in a result, or in its panes, is reported by its sentence."""
    report, table, how, sentence = broken
    warehouse = copy(report)
    alter(warehouse, table, how)
    assert sentence in sentences(warehouse, OF_RESULTS)


def notes(warehouse: Path) -> str:
    """Returns the notes on a warehouse, which must be sound."""
    verification = verify(str(warehouse))
    assert verification.is_sound, verification.findings
    return "\n".join(note for finding in verification.findings for note in finding.notes)


def _is(row: Row, where: Mapping[str, Any]) -> bool:
    return all(row[name] == value for name, value in where.items())
