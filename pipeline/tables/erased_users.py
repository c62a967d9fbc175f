"""The table `erased_users`: users whose later events are dropped, as hashes with a salt of the table."""

import secrets
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from tidemark.pipeline import instants
from tidemark.pipeline.pseudonyms import ErasedUsers
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.query import rows_of
from tidemark.pipeline.tables.schemas import ERASED_USERS, is_table

SALT_BYTES: Final = 32
LOOKS_EVERY_S: Final = 1.0
"""A running service reads the table this often, in seconds."""
_ALL_ROWS_SQL: Final = "since IS NOT NULL"


def remember(warehouse: str, user: str) -> bool:
    """Adds a user by the id in the tables; returns False if the table has it already."""
    handle = Handle.of(ERASED_USERS, warehouse)
    while True:
        users = erased_users(handle.table) or ErasedUsers(secrets.token_bytes(SALT_BYTES), frozenset())
        if users.hash_of(user) in users.hashes:
            return False
        row = {"user_hash": users.hash_of(user), "salt": users.salt.hex(), "since": instants.now_ms()}
        if handle.swap(pa.Table.from_pylist([row], schema=ERASED_USERS.schema), by=None):
            return True


def forget(warehouse: str, user: str) -> bool:
    """Removes a user from the table and its files, also after a run that was killed; returns False if it is absent."""
    if not is_table(uri := ERASED_USERS.uri(warehouse)):
        return False
    handle, was_removed = Handle(uri), False
    while not was_removed and (users := erased_users(handle.table)) and (own := users.hash_of(user)) in users.hashes:
        rows = rows_of("SELECT * FROM erased_users", erased_users=handle.table)
        others = [row for row in rows if row["user_hash"] != own]
        # All rows are rewritten, because the log would store a condition with the user's hash.
        was_removed = handle.swap(pa.Table.from_pylist(others, schema=ERASED_USERS.schema), _ALL_ROWS_SQL, by=None)
    while not handle.vacuum(0):
        pass
    return was_removed


def erased_users(table: DeltaTable) -> ErasedUsers | None:
    """Returns all erased users as of the table's version, or of a newer version; None if there are no users."""
    while True:
        seen = table.version()
        try:
            rows = rows_of("SELECT user_hash, salt FROM erased_users", erased_users=table)
        except (DeltaError, OSError, pa.ArrowException):
            table.update_incremental()  # a user was just removed, and with it the files
            if table.version() == seen:
                raise
        else:
            hashes = frozenset(row["user_hash"] for row in rows)
            return ErasedUsers(bytes.fromhex(rows[0]["salt"]), hashes) if rows else None
