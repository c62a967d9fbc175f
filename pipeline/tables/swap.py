"""Compare-and-swap on a Delta table: a commit lands at exactly the version after the one its writer saw, or not."""

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
    seen = table.version()
    try:
        if where is None:
            write_deltalake(table, rows, mode="append", commit_properties=once)
        else:
            write_deltalake(table, rows, mode="overwrite", predicate=where, commit_properties=once)
    except CommitFailedError:
        table.update_incremental()
        if table.version() == seen:
            raise
        return False
    return True
