"""Compare-and-swap on a Delta table: a commit lands at exactly the version after the one its writer saw, or not."""

from collections.abc import Callable
from typing import Final

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError

ONCE: Final = CommitProperties(max_commit_retries=0)


def swap(table: DeltaTable, rows: pa.Table, where: str | None = None, transaction: Transaction | None = None) -> bool:
    """Appends the rows, or puts them in the place of those for which `where` holds.

    False if somebody else took the version: the handle has then moved on, and what was read before may be outdated.
    Raises DeltaError where the table refuses for another reason.
    """
    once = CommitProperties(max_commit_retries=0, app_transactions=[transaction]) if transaction else ONCE
    if where is None:
        return attempt(table, lambda: write_deltalake(table, rows, mode="append", commit_properties=once))
    return attempt(
        table, lambda: write_deltalake(table, rows, mode="overwrite", predicate=where, commit_properties=once)
    )


def attempt(table: DeltaTable, act: Callable[[], object]) -> bool:
    """Whether `act` could commit to the table; False, with the handle moved on, if somebody else's commit was first.

    Raises DeltaError where the table refuses for another reason.
    """
    seen = table.version()
    try:
        act()
    except CommitFailedError:
        table.update_incremental()
        if table.version() == seen:
            raise
        return False
    return True
