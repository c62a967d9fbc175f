"""The table `erased_users`: whose later events are dropped, by hashes under a salt of the table."""

import secrets
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from pipeline import instants
from pipeline.pseudonyms import ErasedUsers
from pipeline.tables.handle import Handle
from pipeline.tables.query import rows_of
from pipeline.tables.schemas import ERASED_USERS, is_table

SALT_BYTES: Final = 32
LOOKS_EVERY_S: Final = 1.0
"""A running service reads the table this often, in seconds."""
_EVERYTHING: Final = "since IS NOT NULL"


def remember(warehouse: str, user: str) -> bool:
    """Adds the user that the tables know by an id; False if it is there already."""
    handle = Handle.of(ERASED_USERS, warehouse)
    while True:
        known = erased_users(handle.table)
        told = known or ErasedUsers(secrets.token_bytes(SALT_BYTES), frozenset())
        if told.hash_of(user) in told.hashes:
            return False
        row = {"user_hash": told.hash_of(user), "salt": told.salt.hex(), "since": instants.now_ms()}
        if handle.swap(pa.Table.from_pylist([row], schema=ERASED_USERS.schema), by=None):
            return True


def forget(warehouse: str, user: str) -> bool:
    """Takes the user out again, and out of the files, also those of a run that was killed; False if it is not there."""
    if not is_table(uri := ERASED_USERS.uri(warehouse)):
        return False
    handle, was_there = Handle(uri), False
    while not was_there and (known := erased_users(handle.table)) and (mine := known.hash_of(user)) in known.hashes:
        others = [row for row in rows_of("SELECT * FROM it", it=handle.table) if row["user_hash"] != mine]
        # All rows are written again, because a condition would record in the log who it was.
        was_there = handle.swap(pa.Table.from_pylist(others, schema=ERASED_USERS.schema), _EVERYTHING, by=None)
    while not handle.vacuum(0):
        pass
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
