"""Handles of the tables of a warehouse. They move to the newest versions together, and only if a log has changed."""

import time
from threading import Lock
from typing import Final

from deltalake import DeltaTable

from tidemark.pipeline.tables.durable import log_of
from tidemark.pipeline.tables.schemas import LEDGER, find_table

_TICK_NS: Final = 100_000_000
"""Two changes of a folder within a tick of its file system's clock may leave the same time."""
LogStates = dict[str, tuple[int, int]]
"""Inode and time of the last change of logs, by table. A log whose state is unknown is left out."""
_MISSING: Final = (0, 0)
_UNKNOWN: Final = (-1, -1)


class TableHandles:
    """Handles by the names of tables. The tables of a recreated warehouse get new handles."""

    def __init__(self, warehouse: str) -> None:
        self.warehouse = warehouse
        self._handles: dict[str, DeltaTable | None] = {}
        self._opening = Lock()
        self._logs: LogStates = {}
        """The logs as of the handles."""
        self._version: str | None = None
        """The version as of the handles; None if it has to be computed."""

    @property
    def version(self) -> str:
        """The versions of all tables that were read, as text. Equal texts mean equal tables."""
        if self._version is None:
            tables = sorted((name, table) for name, table in self._handles.items() if table is not None)
            self._version = " ".join(f"{name} {table.metadata().id} {table.version()}" for name, table in tables)
        return self._version

    def find(self, name: str) -> DeltaTable | None:
        """Returns the table with a name, as of the last refresh; None if it did not exist. Threads may call it."""
        with self._opening:
            if name not in self._handles:
                self._handles[name] = find_table(name, self.warehouse)
                self._version = None
            return self._handles[name]

    def clear(self) -> None:
        """Forgets all handles."""
        self._handles, self._logs, self._version = {}, {}, None

    def refresh(self) -> None:
        """Moves all handles to the newest versions. Costs no request for tables whose logs are local and unchanged."""
        logs = self._log_states()
        changed = {name for name in (LEDGER.name, *self._handles) if logs.get(name, _UNKNOWN) != self._logs.get(name)}
        if not changed:
            return
        self._logs, self._version = {}, None
        if LEDGER.name in changed:
            self._refresh_ledger()
        for name in (changed & self._handles.keys()) - {LEDGER.name}:
            table = self._handles[name]
            if table is None:
                self._handles[name] = find_table(name, self.warehouse)
            else:
                table.update_incremental()
        self._logs = logs

    def _refresh_ledger(self) -> None:
        """Opens the ledger again: an old handle would add the commits of a recreated table to those of the old one."""
        known, newest = self._handles.get(LEDGER.name), find_table(LEDGER.name, self.warehouse)
        if known is None or newest is None or known.metadata().id != newest.metadata().id:
            self._handles.clear()
        self._handles[LEDGER.name] = newest

    def _log_states(self) -> LogStates:
        """Returns the states of the logs that are local and did not change just now."""
        states: LogStates = {}
        for name in self._handles:
            log = log_of(self.warehouse, name)
            if log is None:
                continue
            try:
                status = log.stat()
            except FileNotFoundError:
                states[name] = _MISSING
                continue
            if time.time_ns() - status.st_mtime_ns >= _TICK_NS:
                states[name] = (status.st_ino, status.st_mtime_ns)
        return states
