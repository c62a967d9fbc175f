"""The tables of a warehouse, all as of about one moment, and SQL over them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from pipeline.event_time import rules
from pipeline.event_time.batch import EPOCH
from pipeline.tables.opening import Opening
from pipeline.tables.schemas import (
    CORRECTIONS,
    DEAD_LETTERS,
    ERASED_USERS,
    ERASURES,
    EVENT_IDS,
    LEDGER,
    PANES,
    is_table,
)
from pipeline.tables.transactions import CLOSED_APP, COMPACTION_APP, REMOVED_APP, WRITER_APP
from pipeline.verifier.wording import Row

NEVER_PUBLISHED: Final = -1
_ATTEMPTS: Final = 100
_OPTIONAL: Final = (EVENT_IDS.name, CORRECTIONS.name, ERASURES.name, ERASED_USERS.name)
_FIXED: Final = (LEDGER.name, PANES.name, DEAD_LETTERS.name, *_OPTIONAL)
_OPENINGS: Final = "SELECT DISTINCT batch, opening FROM ledger WHERE opening IS NOT NULL ORDER BY batch"


@dataclass(frozen=True, slots=True)
class WarehouseSnapshot:
    """The tables that could be opened, and why the others could not."""

    warehouse: str
    handles: Mapping[str, DeltaTable]
    unreadable: Mapping[str, str]
    openings: Mapping[int, Opening]
    """By epoch."""
    unclear: Mapping[int, str]
    """Openings that tell nothing, by batch."""
    newest: int
    engine: QueryBuilder
    """Knows the tables by their names."""

    def ask(self, sql: str) -> pa.Table:
        """The rows of a query, with the tables by their names."""
        return pa.table(self.engine.execute(sql))

    def number(self, sql: str) -> int:
        """The one number that a query gives; 0 for null."""
        return int(self.ask(sql).column(0)[0].as_py() or 0)

    def version(self, name: str, app: str) -> int | None:
        """The version that a table has of an application; None where it has none, or cannot be read."""
        return self.handles[name].transaction_version(app) if name in self.handles else None

    def published(self, name: str) -> int:
        """The batch up to which a table is published."""
        version = self.version(name, WRITER_APP)
        return NEVER_PUBLISHED if version is None else version

    def of_ledger(self, verdict: str) -> str:
        """SQL of how many records of a row of the ledger have a verdict of which older versions knew nothing."""
        known = {field.name for field in self.handles[LEDGER.name].schema().fields}
        return f"coalesce({verdict}, 0)" if verdict in known else "0"

    def swept(self, name: str) -> int:
        """Windows of a result table that end no later may lack panes: they are final, and compaction has been there."""
        if self.version(PANES.name, COMPACTION_APP) in (None, EPOCH):  # older versions recorded their first start
            return rules.NO_WATERMARK
        return rules.as_number(self.version(name, CLOSED_APP))

    def removed(self, name: str) -> int:
        """How far rows were removed by age: the end of a window in milliseconds, or a batch; 0 for none."""
        return self.version(name, REMOVED_APP) or 0

    def without(self, names: Iterable[str]) -> "WarehouseSnapshot":
        """The same, less tables in which a query could fail."""
        kept = {name: handle for name, handle in self.handles.items() if name not in {*names}}
        return replace(self, handles=kept, engine=_engine(kept))

    def uri(self, name: str) -> str:
        """Where a table lives."""
        return f"{self.warehouse.rstrip('/')}/{name}"


def read(warehouse: str) -> WarehouseSnapshot:
    """Opens the ledger first: what the others have beyond it is void.

    Only what was published or compacted meanwhile from batches that come after would be told apart wrongly, so then it
    begins anew.
    """
    tables = _read(warehouse)
    for _ in range(_ATTEMPTS):
        if all(tables.published(name) <= tables.newest for name in tables.handles if name != LEDGER.name):
            break
        tables = _read(warehouse)
    return tables


def _read(warehouse: str) -> WarehouseSnapshot:
    empty = WarehouseSnapshot(warehouse, {}, {}, {}, {}, 0, QueryBuilder())
    handles, unreadable = _open(empty, [LEDGER.name])
    ledger = replace(empty, handles=handles, engine=_engine(handles))
    openings, unclear = _openings(ledger)
    newest = max((row["batch"] or 0 for row in _safe(ledger, "SELECT max(batch) AS batch FROM ledger")), default=0)
    policies = [one.policy for one in openings.values()]
    results = dict.fromkeys(result.name for policy in policies for result in policy.consumers)
    # Panes before results, for what was swept from them is published; corrections last, for results have some of them.
    names = [PANES.name, DEAD_LETTERS.name, EVENT_IDS.name, *results]
    names += [CORRECTIONS.name, ERASURES.name, ERASED_USERS.name]
    # Results that are no longer configured somebody may have taken away.
    configured = {result.name for policy in policies[-1:] for result in policy.consumers}
    optional = {*_OPTIONAL, *results} - configured
    wanted = [name for name in names if name not in optional or is_table(empty.uri(name))]
    others, further = _open(empty, wanted)
    handles |= others
    return WarehouseSnapshot(warehouse, handles, unreadable | further, openings, unclear, newest, _engine(handles))


def _engine(handles: Mapping[str, DeltaTable]) -> QueryBuilder:
    engine = QueryBuilder()
    for name, handle in handles.items():
        engine = engine.register(name_of(name), handle)
    return engine


def name_of(table: str) -> str:
    """The name of a table in SQL: a report may have any name, also one that a query has for a part of its own."""
    return table if table in _FIXED else f"_{table}"


def _open(tables: WarehouseSnapshot, names: Iterable[str]) -> tuple[dict[str, DeltaTable], dict[str, str]]:
    handles, unreadable = dict[str, DeltaTable](), dict[str, str]()
    for name in names:
        try:
            handles[name] = DeltaTable(tables.uri(name))
        except Exception as error:  # noqa: BLE001 - of many kinds; a table that cannot be read is what is looked for
            unreadable[name] = first_line(error)
    return handles, unreadable


def _openings(ledger: WarehouseSnapshot) -> tuple[dict[int, Opening], dict[int, str]]:
    openings, unclear = dict[int, Opening](), dict[int, str]()
    for row in _safe(ledger, _OPENINGS):
        try:
            openings[row["batch"] // EPOCH] = Opening.from_text(row["opening"])
        except (ValueError, KeyError, TypeError) as error:
            unclear[row["batch"]] = f"{type(error).__name__}: {error}"
    return openings, unclear


def _safe(ledger: WarehouseSnapshot, sql: str) -> list[Row]:
    try:
        found: list[Row] = ledger.ask(sql).to_pylist()
        return found
    except Exception:  # noqa: BLE001 - of many kinds; that the ledger cannot be read is told where its files are
        return []


def first_line(error: Exception) -> str:
    """The first line of an error, without the trace that some carry."""
    return str(error).strip().split("\n")[0][:300]
