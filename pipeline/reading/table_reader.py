"""Reads tables for pages with cached handles, which are refreshed once for each answer."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import Final, Generic, TypeVar

from deltalake import DeltaTable

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.dimensions import Type
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.instants import ms_of, now_ms
from tidemark.pipeline.reading.bounded_lock import acquired
from tidemark.pipeline.reading.ledger_summary import LedgerSummary, read_summary
from tidemark.pipeline.reading.table_handles import TableHandles
from tidemark.pipeline.results.live_view import live_sql
from tidemark.pipeline.tables.engines import Engine
from tidemark.pipeline.tables.file_statistics import highest, highest_of_newest, lowest
from tidemark.pipeline.tables.query import Row, rows_of
from tidemark.pipeline.tables.schemas import CORRECTIONS, LEDGER, PANES
from tidemark.pipeline.tables.store_errors import is_of_store

T = TypeVar("T")
Span = tuple[int | None, int | None]
"""Windows that end after the first time and not after the second; milliseconds, None for no bound."""
KeyValues = Mapping[str, str]
"""Required values of keys, as text."""

PATIENCE_S: Final = 30.0
"""The longest that a request waits for another one, which may wait for a store that hangs."""
# Statistics of files exclude other windows, and ledger batches that are older than every pane.
_LIVE: Final = """
WITH {tables}, _live AS ({live})
SELECT {select} FROM _live WHERE {within}{only} {rest}
"""


@dataclass(frozen=True, slots=True)
class CurrentTables:
    """The tables for one answer, as of one look at their logs."""

    warehouse: str
    _handles: TableHandles

    def find(self, name: str) -> DeltaTable | None:
        """Returns the table with a name; None if it does not exist yet."""
        return self._handles.find(name)

    def ends(self, report: Report) -> tuple[int, int] | None:
        """Returns the earliest and the latest end of a published window, in ms; None without windows."""
        table = self.find(report.name)
        first, last = (None, None) if table is None else (lowest(table, c.WINDOW_END), highest(table, c.WINDOW_END))
        return None if first is None or last is None else (ms_of(first), ms_of(last))

    def live(
        self, report: Report, select: str, rest: str, span: Span, only: KeyValues, until_batch: int = rules.NEVER
    ) -> list[Row]:
        """Queries the live view of a report in a span, as of a batch of the ledger: by default the newest.

        `select` and `rest`, which follows the conditions, are SQL.
        """
        tables = {name: self.find(name) for name in (LEDGER.name, PANES.name, report.name, CORRECTIONS.name)}
        existing = {name: table for name, table in tables.items() if table is not None}
        if len(existing) < len(tables) - (CORRECTIONS.name not in existing):
            return []
        keys, within = keys_sql(report.types, only), _within_sql(*span)
        conditions = {
            **_batches_sql(existing, report, until_batch),
            **dict.fromkeys((PANES.name, CORRECTIONS.name), _of_report_sql(report, only)),
            report.name: f"{within}{keys}",
        }
        sql = _LIVE.format(
            tables=", ".join(
                f'"{name}" AS (SELECT {_columns(name, report)} FROM _all_{name} WHERE {conditions[name]})'  # noqa: S608 - ours, and quoted
                for name in existing
            ),
            live=live_sql(
                self.warehouse,
                report,
                Engine.DELTA_RS,
                corrected=CORRECTIONS.name in existing,
                panes=existing[PANES.name],
            ),
            select=select,
            within=within,
            only=keys,
            rest=rest,
        )
        return rows_of(sql, **{f"_all_{name}": table for name, table in existing.items()})


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """The content that was read from one version of the tables."""

    version: str
    summary: LedgerSummary | None
    content: T
    committed_at: int | None
    """When the newest batch was committed, in ms, which may not have been read yet; None before the first batch."""
    read_at: float
    """When the tables were read, by the monotonic clock."""
    cpu_s: float
    """CPU time of the process during the reading, in seconds."""


ReadTables = Callable[[CurrentTables, LedgerSummary | None], T]
"""Reads tables; the summary is None before the first batch."""


class TableReader:
    """Reads a warehouse for concurrent requests, one after another."""

    def __init__(self, warehouse: str, patience_s: float = PATIENCE_S) -> None:
        self.warehouse = warehouse
        self.answered_at: int | None = None
        """When the store last answered, in ms."""
        self._refreshed_at = -math.inf
        """When the versions of the tables were looked up, by the monotonic clock."""
        self._lock, self._patience_s = Lock(), patience_s
        self._handles = TableHandles(warehouse)
        self._summary: LedgerSummary | None = None
        self._committed: tuple[str, int | None] = ("", None)
        """Version of the tables, and when its newest batch was committed."""

    def read(self, ask: ReadTables[T]) -> T:
        """Returns what `ask` returns for the tables and the ledger's summary, which is None before the first batch.

        Repeats `ask` once after an error of the store, because a newer version may have removed a file.
        Raises what a store raises, and TransientError if other requests take too long.
        """
        return self.read_newer(ask, None).content

    def read_newer(
        self, ask: ReadTables[T], known: Reading[T] | None, *, is_due: bool = True, age_s: float = 0.0
    ) -> Reading[T]:
        """Like `read`, but returns `known` if the tables have not changed since, or if a new reading is not due.

        The versions of the tables may be `age_s` seconds old.
        """
        with acquired(self._lock, self._patience_s):
            try:
                if time.monotonic() >= self._refreshed_at + age_s:
                    self._refresh()
                return self._read_newer(ask, known, is_due=is_due)
            except Exception as error:
                if not is_of_store(error):
                    raise
                self._handles.clear()
                self._refresh()
                return self._read_newer(ask, known, is_due=is_due)

    def _refresh(self) -> None:
        self._handles.refresh()
        self.answered_at, self._refreshed_at = now_ms(), time.monotonic()

    def _read_newer(self, ask: ReadTables[T], known: Reading[T] | None, *, is_due: bool) -> Reading[T]:
        if known is not None and (not is_due or known.version == self._handles.version):
            return replace(known, committed_at=self._committed_at())
        begun_s = time.process_time()
        ledger = self._handles.find(LEDGER.name)
        self._summary = None if ledger is None else read_summary(ledger, self._summary)
        content = ask(CurrentTables(self.warehouse, self._handles), self._summary)
        return Reading(
            version=self._handles.version,
            summary=self._summary,
            content=content,
            committed_at=self._committed_at(),
            read_at=time.monotonic(),
            cpu_s=time.process_time() - begun_s,
        )

    def _committed_at(self) -> int | None:
        version = self._handles.version
        if self._committed[0] != version:
            ledger = self._handles.find(LEDGER.name)
            at = None if ledger is None else highest_of_newest(ledger, "committed_at", newest_by=c.BATCH)
            if at is None and self._summary is not None:
                at = self._summary.committed_at
            self._committed = (version, at)
        return self._committed[1]


def _columns(name: str, report: Report) -> str:
    """Returns all columns, with keys without their Delta comments.

    DataFusion 52 compares comments between the branches of a union, and fails if they differ.
    """
    names = {report.name: report.keys, PANES.name: [*map(report.stored, report.keys)]}
    uncommented = ", ".join(f"nullif({key}, NULL) AS {key}" for key in names.get(name, ()))
    return f"* REPLACE ({uncommented})" if uncommented else "*"


def _batches_sql(tables: Mapping[str, DeltaTable], report: Report, until: int) -> dict[str, str]:
    """Returns the SQL condition of the ledger: batches up to `until` that panes of the report may have."""
    first = lowest(tables[PANES.name], c.BATCH, report=report.name)
    newest = min(highest(tables[LEDGER.name], c.BATCH), until)
    oldest = newest if first is None else min(first, newest)
    return {LEDGER.name: f"{c.BATCH} >= {oldest} AND {c.BATCH} <= {until}"}


def _of_report_sql(report: Report, only: KeyValues) -> str:
    """Returns the SQL condition of panes and corrections: of the report, and with these values of its keys."""
    stored = {report.stored(key): value for key, value in only.items()}
    return f"{c.REPORT} = '{report.name}'{keys_sql({}, stored)}"


def _within_sql(after: int | None, until: int | None) -> str:
    bounds = [(">", after), ("<=", until)]
    conditions = [f"{c.WINDOW_END} {sign} {time_sql(time)}" for sign, time in bounds if time is not None]
    return " AND ".join(conditions) or "true"


def text_sql(value: str) -> str:
    """Returns a text literal, escaped."""
    return "'" + value.replace("'", "''") + "'"


def keys_sql(types: Mapping[str, Type], only: KeyValues) -> str:
    """Returns SQL conditions on keys, each after AND; `types` are those of keys that are no texts."""
    texts = {key: f"CAST({key} AS VARCHAR)" if key in types else key for key in only}
    return "".join(f" AND {texts[key]} = {text_sql(value)}" for key, value in only.items())


def time_sql(milliseconds: int) -> str:
    """Returns the literal of a time."""
    return Engine.DELTA_RS.time(str(milliseconds))
