"""The tables of a warehouse, all as of about the same time, and SQL over them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable

from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.batch import EPOCH
from tidemark.pipeline.tables.opening import Opening
from tidemark.pipeline.tables.schemas import (
    CORRECTIONS,
    DEAD_LETTERS,
    ERASED_USERS,
    ERASURES,
    EVENT_IDS,
    LEDGER,
    PANES,
    is_table,
)
from tidemark.pipeline.tables.transactions import CLOSED_APP, COMPACTION_APP, PUBLISHED_APP, REMOVED_APP
from tidemark.pipeline.verifier.query_engines import Connect, DataFusion, Expected, QueryEngine
from tidemark.pipeline.verifier.verification import Row

NEVER_PUBLISHED: Final = -1
_ATTEMPTS: Final = 100
_SHORT: Final = 100
_OPTIONAL: Final = (EVENT_IDS.name, CORRECTIONS.name, ERASURES.name, ERASED_USERS.name)
_FIXED: Final = (LEDGER.name, PANES.name, DEAD_LETTERS.name, *_OPTIONAL)
_OPENINGS_SQL: Final = "SELECT DISTINCT batch, opening FROM ledger WHERE opening IS NOT NULL ORDER BY batch"
_NEWEST_SQL: Final = f"SELECT batch % {EPOCH} = 0 AS opens, max(batch) AS batch FROM ledger GROUP BY 1"


@dataclass(frozen=True, slots=True)
class WarehouseSnapshot:
    """The tables that could be opened, and the errors of all others."""

    warehouse: str
    handles: Mapping[str, DeltaTable]
    unreadable: Mapping[str, str]
    openings: Mapping[int, Opening]
    """By epoch."""
    opening_errors: Mapping[int, str]
    """Errors of openings that cannot be read, by batch."""
    newest: int
    """The newest batch."""
    engine: QueryEngine
    """The query engine, with the tables by name."""
    answers: dict[str, pa.Table] = field(default_factory=dict)
    """Short answers by their SQL: several invariants ask the same about each result."""

    def ask(self, sql: str) -> pa.Table:
        """Returns the rows of a query over the tables."""
        if (answer := self.answers.get(sql)) is None:
            answer = self.engine.ask(sql)
            if len(answer) <= _SHORT:
                self.answers[sql] = answer
        return answer

    def compare(self, sql: str, expected: Expected) -> tuple[int, list[Row]]:
        """Returns the number of rows of a query, and the rows that must have another value, as column `expected`."""
        return self.engine.compare(sql, expected)

    def scalar(self, sql: str) -> int:
        """Returns the only value of a query, 0 for null."""
        return int(self.ask(sql).column(0)[0].as_py() or 0)

    def version(self, name: str, app: str) -> int | None:
        """Returns a table's transaction version of an application, None if it has no version or cannot be read."""
        return self.handles[name].transaction_version(app) if name in self.handles else None

    def published(self, name: str) -> int:
        """Returns the batch up to which a table is published."""
        version = self.version(name, PUBLISHED_APP)
        return NEVER_PUBLISHED if version is None else version

    def ledger_column_sql(self, verdict: str) -> str:
        """SQL: a count of the ledger's rows, 0 if an older version wrote the ledger without this column."""
        return f"coalesce({verdict}, 0)" if verdict in self.columns(LEDGER.name) else "0"

    def columns(self, name: str) -> set[str]:
        """Returns the names of a table's columns: an older version may have created it; empty if it cannot be read."""
        return {field.name for field in self.handles[name].schema().fields} if name in self.handles else set()

    def swept(self, name: str) -> int:
        """Returns the end up to which windows of a result table are final, so that compaction may remove panes."""
        if self.version(PANES.name, COMPACTION_APP) in (None, EPOCH):  # older versions recorded their first start
            return rules.NO_WATERMARK
        return rules.as_number(self.version(name, CLOSED_APP))

    def removed_until(self, name: str) -> int:
        """Returns up to where rows were removed by age: a window's end in milliseconds, or a batch; 0 for no rows."""
        return self.version(name, REMOVED_APP) or 0

    def without(self, names: Iterable[str], connect: Connect = DataFusion) -> "WarehouseSnapshot":
        """Returns this snapshot in another engine, without some tables, so that no query fails on them."""
        handles = {name: handle for name, handle in self.handles.items() if name not in {*names}}
        return replace(self, handles=handles, engine=_engine(handles, connect), answers={})

    def is_current(self) -> bool:
        """Whether no table was created or changed since this snapshot was taken."""
        present = {name for name in (*self.handles, *_OPTIONAL) if is_table(self.uri(name))}
        return present == {*self.handles} and all(
            DeltaTable(self.uri(name)).version() == handle.version() for name, handle in self.handles.items()
        )

    def uri(self, name: str) -> str:
        """Returns the URI of a table."""
        return f"{self.warehouse.rstrip('/')}/{name}"


def read(warehouse: str) -> WarehouseSnapshot:
    """Opens the tables of a warehouse, the ledger first: rows of later batches are uncommitted.

    Reads all of them again if a later batch was published or compacted meanwhile, because rows made of it cannot be
    recognised.
    """
    tables = _read(warehouse)
    for _ in range(_ATTEMPTS):
        if all(tables.published(name) <= tables.newest for name in tables.handles if name != LEDGER.name):
            break
        tables = _read(warehouse)
    return tables


def _read(warehouse: str) -> WarehouseSnapshot:
    empty = WarehouseSnapshot(warehouse, {}, {}, {}, {}, 0, DataFusion({}))
    handles, unreadable = _open(empty, [LEDGER.name])
    ledger = replace(empty, handles=handles, engine=_engine(handles), answers={})
    openings, opening_errors = _openings(ledger)
    batches = _rows_or_empty(ledger, _NEWEST_SQL)
    newest = max((row["batch"] for row in batches), default=0)
    last_work = max((row["batch"] for row in batches if not row["opens"]), default=0)
    policies = [opening.policy for opening in openings.values()]
    results = dict.fromkeys(result.name for policy in policies for result in policy.consumers)
    # Panes before results, because panes that are compacted later are published; corrections last, because results may
    # contain them.
    names = [PANES.name, DEAD_LETTERS.name, EVENT_IDS.name, *results]
    names += [CORRECTIONS.name, ERASURES.name, ERASED_USERS.name]
    # Results that are no longer configured may have been deleted; an epoch without a batch may not have made its own.
    made = [openings.get(last_work // EPOCH), *[*openings.values()][-1:]]
    required = set.intersection(*({result.name for result in one.policy.consumers} if one else set() for one in made))
    optional = {*_OPTIONAL, *results} - required
    wanted = [name for name in names if name not in optional or is_table(empty.uri(name))]
    others, further = _open(empty, wanted)
    handles |= others
    return WarehouseSnapshot(
        warehouse, handles, unreadable | further, openings, opening_errors, newest, _engine(handles)
    )


def _engine(handles: Mapping[str, DeltaTable], connect: Connect = DataFusion) -> QueryEngine:
    return connect({sql_name(name): handle for name, handle in handles.items()})


def sql_name(table: str) -> str:
    """Returns the name of a table in SQL. Reports get a prefix: their names may equal those of CTEs."""
    return table if table in _FIXED else f"_{table}"


def _open(tables: WarehouseSnapshot, names: Iterable[str]) -> tuple[dict[str, DeltaTable], dict[str, str]]:
    handles, unreadable = dict[str, DeltaTable](), dict[str, str]()
    for name in names:
        try:
            handles[name] = DeltaTable(tables.uri(name))
        except Exception as error:  # noqa: BLE001 - of many kinds; each is reported as a violation
            unreadable[name] = first_line(error)
    return handles, unreadable


def _openings(ledger: WarehouseSnapshot) -> tuple[dict[int, Opening], dict[int, str]]:
    openings, opening_errors = dict[int, Opening](), dict[int, str]()
    for row in _rows_or_empty(ledger, _OPENINGS_SQL):
        try:
            openings[row["batch"] // EPOCH] = Opening.from_text(row["opening"])
        except (ValueError, KeyError, TypeError) as error:
            opening_errors[row["batch"]] = f"{type(error).__name__}: {error}"
    return openings, opening_errors


def _rows_or_empty(ledger: WarehouseSnapshot, sql: str) -> list[Row]:
    try:
        rows: list[Row] = ledger.ask(sql).to_pylist()
        return rows
    except Exception:  # noqa: BLE001 - of many kinds; `table_files` reports a ledger that cannot be read
        return []


def first_line(error: Exception) -> str:
    """Returns the first line of an error, without the trace that some errors include."""
    return str(error).strip().split("\n")[0][:300]
