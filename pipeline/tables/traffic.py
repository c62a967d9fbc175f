"""The bytes that commits added to the tables and removed from them, from the tables' logs.

Logs have the commits of all processes and engines, which no single writer could count.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import pyarrow.fs as pafs
from deltalake import DeltaTable

from tidemark.pipeline.runtime.disk import Purpose, Traffic
from tidemark.pipeline.tables.files import store_of
from tidemark.pipeline.tables.schemas import OWN, TableSpec, find_table
from tidemark.pipeline.tables.transactions import COMPACTION_APP, ERASED_APP, ERASING_APP

_AT_ONCE: Final = 16
_APPENDED: Final = {spec.name for spec in OWN}
_BY_OPERATION: Final = {"DELETE": Purpose.REMOVAL, "UPDATE": Purpose.REMOVAL}


class Meter:
    """Sums what is committed to the tables of a warehouse from one reading to the next."""

    def __init__(self, warehouse: str, results: Iterable[TableSpec]) -> None:
        """Starts to count at the current versions."""
        self._warehouse = warehouse
        self._names = [spec.name for spec in (*OWN, *results)]
        self._seen = {name: table.version() for name, table in self._tables().items()}

    def read(self) -> Traffic:
        """Returns the bytes since the last reading. Raises DeltaError or OSError if the store refuses."""
        total = Traffic()
        for name, table in self._tables().items():
            total += traffic(table, name, after=self._seen.get(name, -1))
            self._seen[name] = table.version()
        return total

    def _tables(self) -> Mapping[str, DeltaTable]:
        return {name: table for name in self._names if (table := find_table(name, self._warehouse))}


def traffic(table: DeltaTable, name: str, after: int = -1) -> Traffic:
    """Returns the bytes of a table's versions later than `after`, as far as the log still has their entries."""
    store = store_of(table.table_uri)
    total = Traffic()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for actions in pool.map(partial(_entry, store), range(after + 1, table.version() + 1)):
            purpose = _purpose(name, actions)
            total.written[name, purpose] += sum(action["add"]["size"] for action in actions if "add" in action)
            removed = (action["remove"] for action in actions if "remove" in action)
            total.replaced[name, purpose] += sum(file.get("size") or 0 for file in removed)
    return total


def _entry(store: pafs.FileSystem, version: int) -> list[dict[str, Any]]:
    try:
        with store.open_input_file(f"_delta_log/{version:020}.json") as file:
            return [json.loads(line) for line in file.read().splitlines()]
    except FileNotFoundError:
        return []


def _purpose(name: str, actions: Sequence[Mapping[str, Any]]) -> Purpose:
    operations = [action["commitInfo"].get("operation") for action in actions if "commitInfo" in action]
    apps = {action["txn"]["appId"] for action in actions if "txn" in action}
    if apps & {ERASED_APP, ERASING_APP}:
        return Purpose.REMOVAL
    if COMPACTION_APP in apps or any(not action["add"]["dataChange"] for action in actions if "add" in action):
        return Purpose.COMPACTION
    written = Purpose.APPEND if name in _APPENDED else Purpose.PUBLICATION
    return _BY_OPERATION.get(operations[0], written) if operations else written
