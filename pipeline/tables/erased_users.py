"""The table `erased_users`: whose later events are dropped, by hashes under a salt of the table."""

import secrets
import time
from functools import partial
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from pipeline.pseudonyms import ErasedUsers
from pipeline.tables.query import rows_of
from pipeline.tables.schemas import ERASED_USERS, find_table, open_table
from pipeline.tables.swap import insist, swap

SALT_BYTES: Final = 32
_EVERYTHING: Final = "since IS NOT NULL"


def remember(warehouse: str, user: str) -> bool:
    """Adds the user that the tables know by an id; False if it is there already."""
    table = open_table(ERASED_USERS, warehouse)
    while True:
        known = erased_users(table)
        told = known or ErasedUsers(secrets.token_bytes(SALT_BYTES), frozenset())
        if told.hash_of(user) in told.hashes:
            return False
        row = {"user_hash": told.hash_of(user), "salt": told.salt.hex(), "since": time.time_ns() // 1_000_000}
        if swap(table, pa.Table.from_pylist([row], schema=ERASED_USERS.schema)):
            return True


def forget(warehouse: str, user: str) -> bool:
    """Takes the user out again, and out of the files, also those of a run that was killed; False if it is not there."""
    table = find_table(ERASED_USERS.name, warehouse)
    if table is None:
        return False
    was_there = False
    while not was_there and (known := erased_users(table)) and (mine := known.hash_of(user)) in known.hashes:
        others = [row for row in rows_of("SELECT * FROM it", it=table) if row["user_hash"] != mine]
        # All rows are written anew, for a condition would say in the log who it was.
        was_there = swap(table, pa.Table.from_pylist(others, schema=ERASED_USERS.schema), _EVERYTHING)
    insist(table, partial(table.vacuum, 0, dry_run=False, enforce_retention_duration=False))
    return was_there


def erased_users(table: DeltaTable) -> ErasedUsers | None:
    """All of them as of the handle's version, or of a newer one; None where there is nobody."""
    while True:
        seen = table.version()
        try:
            rows = rows_of("SELECT user_hash, salt FROM it", it=table)
        except (DeltaError, OSError, pa.ArrowException):
            table.update_incremental()  # somebody was taken out just then, and with it the files
            if table.version() == seen:
                raise
        else:
            hashes = frozenset(row["user_hash"] for row in rows)
            return ErasedUsers(bytes.fromhex(rows[0]["salt"]), hashes) if rows else None
