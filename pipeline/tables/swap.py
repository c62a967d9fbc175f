"""Compare-and-swap on a Delta table: a commit lands at exactly the version after the one its writer saw, or not.

Every commit carries a token. Where the store says that a commit failed, its writer looks whether it landed all the
same: the answer to a request that did its work may be lost, and the next try then meets its own commit.
"""

import re
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Literal

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from pipeline.tables.durable import sync

_OUTDATED: Final = re.compile("not found|Invalid table version")
"""Of a file that no version needs any more, or an entry that the log no longer has: the handle is an old one."""
TOKEN: Final = "tidemark.token"  # noqa: S105 - it names a commit, it opens nothing


def swap(
    table: DeltaTable,
    rows: pa.Table | pa.RecordBatchReader,
    where: str | None = None,
    transactions: Sequence[Transaction] = (),
    schema_mode: Literal["merge"] | None = None,
) -> bool:
    """Appends the rows, or puts them in the place of those for which `where` holds.

    With `schema_mode` merge the table gets the columns that it lacks, in the same commit.

    False if somebody else took the version: the handle has then moved on, and what was read before may be outdated.
    Raises DeltaError where the table refuses for another reason.
    """
    mode: Literal["append", "overwrite"] = "append" if where is None else "overwrite"
    write = partial(write_deltalake, table, rows, mode=mode, predicate=where, schema_mode=schema_mode)
    return attempt(table, write, transactions)


def insist(table: DeltaTable, act: Callable[..., object], transactions: Sequence[Transaction] = ()) -> None:
    """Has `act` commit, again for as long as another's commit comes first. Raises what `attempt` raises."""
    while not attempt(table, act, transactions):
        pass


def attempt(
    table: DeltaTable, act: Callable[..., object], transactions: Sequence[Transaction] = (), retries: int = 0
) -> bool:
    """Whether what `act` commits with the `commit_properties` it is given has landed, and is safe from a power cut.

    False, with the handle moved on, if somebody else's commit was first, or took files that the handle knew. With
    `retries` a commit may also land after others that do not touch what it read; then it needs a transaction, or a lost
    answer would let it land twice.
    Raises DeltaError or OSError where the store refuses for another reason.
    """
    seen, token = table.version(), uuid.uuid4().hex
    properties = CommitProperties(
        custom_metadata={TOKEN: token}, max_commit_retries=retries, app_transactions=list(transactions)
    )
    try:
        act(commit_properties=properties)
    except (DeltaError, OSError) as error:
        if not _landed(table, seen, token):
            if (isinstance(error, CommitFailedError) or _OUTDATED.search(str(error))) and table.version() > seen:
                return False
            raise
    sync(table.table_uri, range(seen + 1, table.version() + 1))
    return True


def _landed(table: DeltaTable, seen: int, token: str) -> bool:
    """Whether one of the versions after `seen` is the commit with this token; moves the handle on to the newest."""
    table.update_incremental()
    newer = table.version() - seen
    return newer > 0 and any(commit.get(TOKEN) == token for commit in table.history(newer))
