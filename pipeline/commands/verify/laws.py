"""The laws of a warehouse, and `verify`, which holds one against all of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pipeline.commands.verify import (
    conservation,
    dead_letters,
    event_ids,
    ledger,
    offsets,
    results,
    storage,
    watermark,
    windows,
)
from pipeline.commands.verify.tables import Tables, first_line, read
from pipeline.commands.verify.verification import Finding, Law, Verification
from pipeline.errors import SetUpError
from pipeline.tables.ledger import require_warehouse
from pipeline.tables.schemas import CORRECTIONS, DEAD_LETTERS, EVENT_IDS, LEDGER, PANES

Check = Callable[[Tables, Finding], None]


@dataclass(frozen=True, slots=True)
class OneLaw:
    """A law that must hold, and the tables without which it cannot be told."""

    name: str
    check: Check
    needs: tuple[str, ...]


LAWS: Final[tuple[OneLaw, ...]] = (
    OneLaw("ledger balances", ledger.check, (LEDGER.name,)),
    OneLaw("offsets join", offsets.check, (LEDGER.name,)),
    OneLaw("watermark is handed on", watermark.check, (LEDGER.name,)),
    OneLaw("dead letters are the rejected", dead_letters.check, (LEDGER.name, DEAD_LETTERS.name)),
    OneLaw(
        "results are their panes", results.check, (LEDGER.name, PANES.name, DEAD_LETTERS.name, CORRECTIONS.name)
    ),
    OneLaw("windows have fired, once", windows.check, (LEDGER.name, CORRECTIONS.name)),
    OneLaw(
        "counted events are there", conservation.check, (LEDGER.name, PANES.name, DEAD_LETTERS.name, CORRECTIONS.name)
    ),
    OneLaw("events are counted once", event_ids.check, (LEDGER.name, EVENT_IDS.name)),
)  # fmt: skip
WHOLE: Final = "tables are whole"


def verify(warehouse: str) -> Verification:
    """Holds a warehouse against every law, without changing it. Raises SetUpError where there is none.

    It may be at rest or written to: what was not committed when the ledger was read is void, and what was not published
    yet is told and no breach.
    """
    require_warehouse(warehouse)
    tables = read(warehouse)
    whole = Finding(WHOLE)
    unsafe = storage.check(tables, whole)
    safe = tables.without(unsafe)
    return Verification(warehouse, (*(look_into(law, safe, unsafe) for law in LAWS), whole.done()))


def look_into(law: OneLaw, tables: Tables, unsafe: set[str]) -> Law:
    """Holds tables against one law, as far as those are safe to ask that it needs."""
    finding = Finding(law.name)
    if missing := sorted(unsafe.intersection(law.needs)):
        finding.tell(f"not looked into: {', '.join(missing)} is not whole")
        return finding.done()
    try:
        law.check(tables, finding)
    except OSError as error:
        raise SetUpError(f"the warehouse {tables.warehouse} cannot be read: {first_line(error)}. Try again") from error
    return finding.done()
