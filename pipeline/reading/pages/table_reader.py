"""The tables of a warehouse as pages read them: handles that are kept, and moved on once for each answer."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, TypeVar

from deltalake import DeltaTable

from pipeline import columns as c
from pipeline.errors import TransientError
from pipeline.event_time.reports import Report
from pipeline.instants import ms_of
from pipeline.reading.ledger_summary import LedgerSummary, read_summary
from pipeline.results.live_view import live_sql
from pipeline.tables.engines import Engine
from pipeline.tables.file_statistics import highest, lowest
from pipeline.tables.query import Row, rows_of
from pipeline.tables.schemas import CORRECTIONS, LEDGER, PANES, find_table
from pipeline.tables.store_errors import is_of_store

T = TypeVar("T")
Span = tuple[int | None, int | None]
"""Windows that end after the first and not after the second time; milliseconds, None for no bound."""
KeyValues = Mapping[str, str]
"""Values of keys that rows must have."""

PATIENCE_S: Final = 30.0
"""The longest that a request waits for another one, which may wait for a store that hangs."""
# What is not asked for stays unread: files of other windows by their statistics, and of the ledger the batches that are
# older than every pane.
_LIVE: Final = """
WITH {tables}, _live AS ({live})
SELECT {select} FROM _live WHERE {within}{only} {rest}
"""


@dataclass(slots=True)
class CurrentTables:
    """The tables as of one moment: each is moved to its newest version when it is first asked for."""

    warehouse: str
    handles: dict[str, DeltaTable]
    seen: set[str] = field(default_factory=set)

    def find(self, name: str) -> DeltaTable | None:
        """The table of a name; None where there is none yet."""
        if name not in self.seen:
            self.seen.add(name)
            handle = self.handles.get(name)
            if handle is not None:
                handle.update_incremental()
            elif (found := find_table(name, self.warehouse)) is not None:
                self.handles[name] = found
        return self.handles.get(name)

    def ends(self, report: Report) -> tuple[int, int] | None:
        """The earliest and the latest end of a published window, in milliseconds; None where there is none."""
        table = self.find(report.name)
        first, last = (None, None) if table is None else (lowest(table, c.WINDOW_END), highest(table, c.WINDOW_END))
        return None if first is None or last is None else (ms_of(first), ms_of(last))

    def live(self, report: Report, select: str, rest: str, span: Span, only: KeyValues) -> list[Row]:
        """Rows of a report's live view in a span; `select` and `rest`, which stands behind the conditions, are SQL."""
        found = {name: self.find(name) for name in (LEDGER.name, PANES.name, report.name, CORRECTIONS.name)}
        there = {name: table for name, table in found.items() if table is not None}
        if len(there) < len(found) - (CORRECTIONS.name not in there):
            return []
        keys, within = "".join(f" AND {key} = {text_sql(value)}" for key, value in only.items()), _within(*span)
        first = lowest(there[PANES.name], c.BATCH, report=report.name)
        newest = highest(there[LEDGER.name], c.BATCH)
        of_report = f"{c.REPORT} = '{report.name}'{keys}"
        wanted = {
            LEDGER.name: f"{c.BATCH} >= {newest if first is None else min(first, newest)}",
            PANES.name: of_report,
            report.name: f"{within}{keys}",
            CORRECTIONS.name: of_report,
        }
        sql = _LIVE.format(
            tables=", ".join(
                f'"{name}" AS (SELECT {_columns(name, report)} FROM _all_{name} WHERE {wanted[name]})'  # noqa: S608 - ours, and quoted
                for name in there
            ),
            live=live_sql(self.warehouse, report, Engine.DELTA_RS, corrected=CORRECTIONS.name in there),
            select=select,
            within=within,
            only=keys,
            rest=rest,
        )
        return rows_of(sql, **{f"_all_{name}": table for name, table in there.items()})


class TableReader:
    """Reads a warehouse for concurrent requests, one after another."""

    def __init__(self, warehouse: str, patience_s: float = PATIENCE_S) -> None:
        self.warehouse = warehouse
        self._lock, self._patience_s = Lock(), patience_s
        self._handles: dict[str, DeltaTable] = {}
        self._summary: LedgerSummary | None = None

    def read(self, ask: Callable[[CurrentTables, LedgerSummary | None], T]) -> T:
        """The answer as of one moment, with the ledger's summary; None of them before the first batch.

        A file that was removed meanwhile, because a newer version of its table has no use for it, is no failure yet:
        it is asked again. Raises what a store raises, and TransientError if other requests take too long.
        """
        with acquired(self._lock, self._patience_s):
            try:
                return self._ask(ask)
            except Exception as error:
                if not is_of_store(error):
                    raise
                self._handles.clear()
                return self._ask(ask)

    def _ask(self, ask: Callable[[CurrentTables, LedgerSummary | None], T]) -> T:
        tables = CurrentTables(self.warehouse, self._handles)
        ledger = tables.find(LEDGER.name)
        self._summary = None if ledger is None else read_summary(ledger, self._summary)
        return ask(tables, self._summary)


@contextmanager
def acquired(lock: Lock, patience_s: float) -> Iterator[None]:
    """Holds `lock` within the block. Raises TransientError if others hold it for longer than `patience_s` seconds."""
    if not lock.acquire(timeout=patience_s):
        raise TransientError(f"another request has been waiting for the store for more than {patience_s:g} s")
    try:
        yield
    finally:
        lock.release()


def _columns(name: str, report: Report) -> str:
    """All columns; keys without the comments that Delta has on them.

    DataFusion 52 takes those of one branch of a union for those of the other, and fails over the difference.
    """
    bare = ", ".join(f"{key} || '' AS {key}" for key in report.keys)
    return f"* REPLACE ({bare})" if bare and name in (PANES.name, report.name) else "*"


def _within(after: int | None, until: int | None) -> str:
    bounds = [(">", after), ("<=", until)]
    told = [f"{c.WINDOW_END} {sign} {Engine.DELTA_RS.time(str(time))}" for sign, time in bounds if time is not None]
    return " AND ".join(told) or "true"


def text_sql(value: str) -> str:
    """A text that came from outside, as SQL."""
    return "'" + value.replace("'", "''") + "'"
