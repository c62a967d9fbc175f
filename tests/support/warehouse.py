"""Reads the tables of a warehouse without Spark."""

from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

EPOCH = 10**9


def table(warehouse: Path | str, name: str) -> pa.Table:
    """Returns the newest version of a table, with uncommitted rows."""
    handle = DeltaTable(f"{warehouse}/{name}")
    return _read(_Version(str(handle.metadata().id), handle.version(), handle))


@dataclass(frozen=True)
class _Version:
    """The version of a table: the key of the cache, because a version never changes."""

    table: str
    number: int
    handle: DeltaTable = field(compare=False)


@lru_cache(16)
def _read(version: _Version) -> pa.Table:
    return version.handle.to_pyarrow_table()


def forget() -> None:
    """Drops cached versions: a table that was restored has versions again, with other rows."""
    _read.cache_clear()


def rows(warehouse: Path | str, name: str) -> list[dict[str, Any]]:
    """Returns the rows of a table as dictionaries, with uncommitted rows."""
    found: list[dict[str, Any]] = table(warehouse, name).to_pylist()
    return found


def page_views(warehouse: Path | str) -> dict[tuple[str, int, int], tuple[int, int, int]]:
    """Returns (user, window start, window end) -> (page views, clicks, late events); fails if a key repeats."""
    found = rows(warehouse, "page_views")
    cells = {
        (row["user_id"], milliseconds(row["window_start"]), milliseconds(row["window_end"])): (
            row["page_views"],
            row["clicks"],
            row["late_events"],
        )
        for row in found
    }
    assert len(cells) == len(found)
    return cells


def user_totals(warehouse: Path) -> dict[str, tuple[int, int, int, int, int]]:
    """Returns user -> first seen, last seen, sessions, page views, clicks; fails if a user repeats."""
    found = rows(warehouse, "user_totals")
    totals = {
        row["user_id"]: (
            milliseconds(row["first_seen"]),
            milliseconds(row["last_seen"]),
            row["sessions"],
            row["page_views"],
            row["clicks"],
        )
        for row in found
    }
    assert len(totals) == len(found)
    return totals


def milliseconds(moment: datetime) -> int:
    """Returns a timestamp of a table in milliseconds since 1970."""
    return round(moment.timestamp() * 1000)


def hashable(cell: Any) -> Any:
    """Returns a cell of a table, a list as a tuple."""
    return tuple(cell) if isinstance(cell, list) else cell


def latest_batch(warehouse: Path) -> list[dict[str, Any]]:
    """Returns the ledger's rows of its newest batch."""
    ledger = rows(warehouse, "ledger")
    newest = max(row["batch"] for row in ledger)
    return [row for row in ledger if row["batch"] == newest]


def records(warehouse: Path | str) -> int:
    """Returns the number of committed records."""
    is_there = DeltaTable.is_deltatable(f"{warehouse}/ledger")
    return sum(row["records"] for row in rows(warehouse, "ledger")) if is_there else 0


def batches(warehouse: Path) -> list[int]:
    """Returns the ids of the committed batches in order, without the rows that open an epoch."""
    return sorted({row["batch"] for row in rows(warehouse, "ledger") if row["batch"] % EPOCH})


def has_read(warehouse: Path, records: int) -> bool:
    """Returns whether the ledger has `records` records."""
    return records == sum(int(row["records"]) for row in rows(warehouse, "ledger"))
