"""The laws of a warehouse, and `verify`, which holds one against all of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pipeline.errors import SetUpError
from pipeline.tables.ledger import require_warehouse
from pipeline.tables.schemas import CORRECTIONS, DEAD_LETTERS, EVENT_IDS, LEDGER, PANES
from pipeline.verifier import (
    conservation,
    fired_windows,
    ledger_balance,
    offset_continuity,
    rejected_records,
    result_sums,
    table_files,
    unique_events,
    watermark_order,
)
from pipeline.verifier.verification import Finding, Verification
from pipeline.verifier.warehouse_snapshot import WarehouseSnapshot, first_line, read


@dataclass(frozen=True, slots=True)
class Law:
    """A law that must hold, and the tables beside the ledger without which it cannot be told."""

    name: str
    check: Callable[[WarehouseSnapshot, Finding], None]
    needs: tuple[str, ...] = ()


LAWS: Final[tuple[Law, ...]] = (
    Law("ledger balances", ledger_balance.check),
    Law("offsets join", offset_continuity.check),
    Law("watermark is handed on", watermark_order.check),
    Law("dead letters are the rejected", rejected_records.check, (DEAD_LETTERS.name,)),
    Law("results are their panes", result_sums.check, (PANES.name, DEAD_LETTERS.name, CORRECTIONS.name)),
    Law("windows have fired, once", fired_windows.check, (CORRECTIONS.name,)),
    Law("counted events are there", conservation.check, (PANES.name, DEAD_LETTERS.name, CORRECTIONS.name)),
    Law("events are counted once", unique_events.check, (EVENT_IDS.name,)),
)


def verify(warehouse: str) -> Verification:
    """Holds a warehouse against every law, without changing it. Raises SetUpError where there is none.

    It may be at rest or written to: what was not committed when the ledger was read is void, and what was not published
    yet is told and no breach.
    """
    require_warehouse(warehouse)
    tables = read(warehouse)
    whole = Finding("tables are whole")
    unsafe = table_files.check(tables, whole)
    safe = tables.without(unsafe)
    return Verification(warehouse, (*(look_into(law, safe, unsafe) for law in LAWS), whole))


def look_into(law: Law, tables: WarehouseSnapshot, unsafe: set[str]) -> Finding:
    """Holds tables against one law, as far as those are safe to ask that it needs."""
    finding = Finding(law.name)
    if missing := sorted(unsafe.intersection((LEDGER.name, *law.needs))):
        finding.tell(f"not looked into: {', '.join(missing)} is not whole")
        return finding
    try:
        law.check(tables, finding)
    except OSError as error:
        raise SetUpError(f"the warehouse {tables.warehouse} cannot be read: {first_line(error)}. Try again") from error
    return finding
