"""Opens tables quickly in lives: a handle that is no longer used moves on to the newest version, and is used again.

delta-rs reads the whole log for each handle that it opens or moves on, and for each transaction that it is asked for.
Here each entry of a log is read about once. Entries must stay as they are once they are written, as without faults.
"""

import json
import os
import weakref
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from typing import Any

from deltalake import DeltaTable

_SPARES = defaultdict[str, list[Any]](list)
"""Handles of delta-rs that are not in use, by the table's address."""
_TRANSACTIONS = defaultdict[str, list[dict[str, int]]](list)
"""The newest transactions by application as of each version, by the table's address."""


@cache
def install() -> None:
    """Makes every table of this process use spare handles."""
    DeltaTable.__init__ = _opened(DeltaTable.__init__)  # type: ignore[method-assign]
    DeltaTable.update_incremental = _refreshed(DeltaTable.update_incremental)  # type: ignore[method-assign]
    DeltaTable.transaction_version = _transaction_version  # type: ignore[assignment,method-assign]


def forget() -> None:
    """Forgets the handles of a warehouse that goes."""
    _SPARES.clear()
    _TRANSACTIONS.clear()


def _opened(real: Callable[..., None]) -> Callable[..., None]:
    def init(table: Any, table_uri: Any, version: int | None = None, **more: Any) -> None:
        spares = _SPARES[str(table_uri)]
        if version is None and spares:
            newest = max(spares, key=lambda spare: spare.version())
            spares.remove(newest)
            table._storage_options, table._table = None, newest
            if _has_moved(table):
                newest.update_incremental()
        else:
            real(table, table_uri, version=version, **more)
        weakref.finalize(table, spares.append, table._table).atexit = False

    return init


def _refreshed(real: Callable[..., None]) -> Callable[..., None]:
    def update_incremental(table: DeltaTable) -> None:
        if _has_moved(table):
            real(table)

    return update_incremental


def _has_moved(table: DeltaTable) -> bool:
    return os.path.exists(_entry(table.table_uri, table.version() + 1))  # noqa: PTH110 - ten times as fast as a path


def _entry(uri: str, version: int) -> str:
    return f"{uri.removeprefix('file://').rstrip('/')}/_delta_log/{version:020}.json"


def _transaction_version(table: DeltaTable, app_id: str) -> int | None:
    known = _TRANSACTIONS[table.table_uri]
    while len(known) <= table.version():
        known.append({**(known[-1] if known else {}), **_read(_entry(table.table_uri, len(known)))})
    return known[table.version()].get(app_id)


def _read(entry: str) -> dict[str, int]:
    """Returns the transactions of an entry of a log."""
    with open(entry) as file:  # noqa: PTH123 - twice as fast as a path
        lines = [json.loads(line)["txn"] for line in file if line.startswith('{"txn"')]
    return {line["appId"]: line["version"] for line in lines}
