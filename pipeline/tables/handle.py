"""A writer's view of a Delta table, and the only module that commits to one.

A handle is a table as of one version. A commit through it lands at exactly the next version, or is refused: so it was
computed from all that the table had. A handle that has just been opened loses no race, so every commit of a service
has a batch, and is refused if the handle's version has the fence of a newer epoch.

A commit that was reported as failed can land later, but only at this version. A writer that finds the version taken
looks there for the token of its commit, and knows whether it has landed or never will.
"""

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, Self

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction

from tidemark.pipeline.errors import Unreachable
from tidemark.pipeline.tables.durable import sync
from tidemark.pipeline.tables.fencing import refuse_if_fenced
from tidemark.pipeline.tables.files import Files, discard
from tidemark.pipeline.tables.schemas import TableSpec, is_table
from tidemark.pipeline.tables.store_errors import one_line
from tidemark.pipeline.tables.transactions import AMENDED_APP, FENCED_APP

_OUTDATED: Final = re.compile("not found|Invalid table version")
TOKEN: Final = "tidemark.token"  # noqa: S105 - it names a commit, it opens nothing
CommitFunction = Callable[..., object]
"""Commits to a table with the `commit_properties` it is given."""


class Handle:
    """A table as of the version that this writer has seen. It moves by its own commits, and when one is refused."""

    def __init__(self, uri: str, version: int | None = None) -> None:
        """Opens the newest version of the table, or the given one."""
        self.table = DeltaTable(uri, version=version)
        self._is_checked = False
        self._transactions = dict[str, int | None]()
        """The last transactions by application, as far as they were read, as of the version below."""
        self._read_at = -1

    @classmethod
    def of(cls, spec: TableSpec, warehouse: str) -> Self:
        """Opens a table, creating it empty if missing. Raises Unreachable if the warehouse cannot be written."""
        create_table(spec, warehouse)
        return cls(spec.uri(warehouse))

    def last(self, app: str) -> int:
        """Returns the version of an application's last transaction, 0 if there is no transaction."""
        return self.transaction(app) or 0

    def transaction(self, app: str) -> int | None:
        """Returns the version of an application's last transaction, None if there is no transaction.

        delta-rs reads a part of the log for each, so they are kept until other writers may have set them.
        """
        self._forget_older_transactions()
        if app not in self._transactions:
            self._transactions[app] = self.table.transaction_version(app)
        return self._transactions[app]

    def amending(self) -> Transaction:
        """Returns the transaction by which verbs, retention and fences exclude one another.

        Only one of the commits that carry it and were computed from the same version can land, even with `retries`.
        """
        return Transaction(AMENDED_APP, self.last(AMENDED_APP) + 1)

    def refresh(self) -> int:
        """Moves to the newest version, and returns it."""
        self.table.update_incremental()
        self._is_checked = False
        return self.table.version()

    def swap(
        self,
        rows: pa.Table | pa.RecordBatchReader,
        where: str | None = None,
        *,
        by: int | None,
        transactions: Sequence[Transaction] = (),
        schema_mode: Literal["merge"] | None = None,
        retries: int = 0,
    ) -> bool:
        """Appends rows, or replaces the rows for which `where` holds. Returns and raises as `attempt` does.

        With `schema_mode` merge the table gets the columns that it lacks, in the same commit.
        """
        mode: Literal["append", "overwrite"] = "append" if where is None else "overwrite"
        data = rows.cast(self._without_comments(rows.schema))
        write = partial(write_deltalake, self.table, data, mode=mode, predicate=where, schema_mode=schema_mode)
        return self.attempt(write, by=by, transactions=transactions, retries=retries)

    def fence(self, batch: int, *transactions: Transaction) -> None:
        """Takes the table over for the epoch that `batch` opens, with an empty commit that also sets `transactions`.

        No older process can commit to the table after it. Raises Replaced if a newer epoch has fenced it.
        """
        fenced = Transaction(FENCED_APP, batch)
        empty = pa.schema(self.table.schema()).empty_table()
        while not self.swap(empty, by=batch, transactions=[fenced, *transactions, self.amending()]):
            pass

    def remove(self, where: str, *, by: int | None, transactions: Sequence[Transaction] = ()) -> bool:
        """Removes the rows for which `where` holds. Returns and raises as `attempt` does."""
        return self.attempt(partial(self.table.delete, where), by=by, transactions=transactions)

    def exchange(
        self,
        gone: Files,
        new: Sequence[AddAction],
        *,
        by: int | None,
        transactions: Sequence[Transaction] = (),
        data_change: bool = True,
    ) -> bool:
        """Removes files from the table and adds files that were made of them alone, whatever else was committed.

        Returns False, and deletes the new files, if one of the files is no longer part of the table because another
        commit has rewritten it. `data_change` is false if the rows stay the same.
        """
        actions: list[AddAction | RemoveAction] = [*gone.remove_actions(data_change=data_change), *new]
        while {*gone.paths} <= {*pa.table(self.table.get_add_actions())["path"].to_pylist()}:
            if self.commit(actions, by=by, transactions=transactions):
                return True
        discard(self.table, new)
        return False

    def commit(
        self,
        actions: Sequence[AddAction | RemoveAction],
        *,
        by: int | None,
        transactions: Sequence[Transaction] = (),
    ) -> bool:
        """Adds and removes files. Returns and raises as `attempt` does."""
        return self.attempt(partial(self._commit, actions), by=by, transactions=transactions)

    def vacuum(self, hours: int | None = None, transactions: Sequence[Transaction] = ()) -> bool:
        """Deletes files that no version within `hours`, by default the table's retention, needs.

        Returns and raises as `attempt` does.
        """
        act = partial(self.table.vacuum, hours, dry_run=False, enforce_retention_duration=hours is None)
        landed = self.attempt(act, by=None, transactions=transactions)
        self._is_checked = False  # it makes several commits, and others may lie between
        return landed

    def attempt(
        self, act: CommitFunction, *, by: int | None, transactions: Sequence[Transaction] = (), retries: int = 0
    ) -> bool:
        """Returns whether the commit of `act` has landed, and is safe from a power cut.

        `by` is the batch of the service that commits, None for a verb. False if another commit was first: the handle
        is then at the newest version, and what was computed must be computed again. With `retries` a commit may also
        land after commits that do not touch what it read: `act` must then be harmless when it is repeated.
        Raises Replaced if a newer epoch has fenced the table; DeltaError or OSError if the store refuses.
        """
        if by is not None:
            self.refuse_if_fenced(by)
        self._forget_older_transactions()
        seen, token = self.table.version(), uuid.uuid4().hex
        properties = CommitProperties(
            custom_metadata={TOKEN: token}, max_commit_retries=retries, app_transactions=list(transactions)
        )
        try:
            act(commit_properties=properties)
        except (DeltaError, OSError) as error:
            if not self._has_landed(seen, token, error):
                return False
        if self.table.version() == seen:  # there was nothing to do, unless the table has moved on
            return self.refresh() == seen
        self._is_checked = self._is_checked and retries == 0
        self._transactions |= {transaction.app_id: transaction.version for transaction in transactions}
        self._read_at = seen + 1  # older than the table's version if others have landed between
        sync(self.table.table_uri, range(seen + 1, self.table.version() + 1))
        return True

    def _has_landed(self, seen: int, token: str, error: Exception) -> bool:
        """Returns whether a commit after `seen` has the token, and moves to it, else to the newest version.

        Raises the error if no commit was made after `seen`, so that this commit may still land, or if the log does not
        go back to it any more.
        """
        newest = DeltaTable(self.table.table_uri)
        commits = newest.history(count) if (count := newest.version() - seen) else []
        own = next((commit["version"] for commit in commits if commit.get(TOKEN) == token), None)
        if own is not None:
            self.table.load_as_version(own)
            return True
        if not commits or (len(commits) < count and not is_outdated(error)):
            raise error
        self.table, self._is_checked = newest, False
        return False

    def refuse_if_fenced(self, by: int) -> None:
        """Raises Replaced if an epoch newer than that of a batch has fenced the table, as of this version."""
        if not self._is_checked:
            refuse_if_fenced(self.table, by)
            self._is_checked = True

    def _forget_older_transactions(self) -> None:
        if self._read_at != self.table.version():
            self._transactions.clear()
            self._read_at = self.table.version()

    def _without_comments(self, schema: pa.Schema) -> pa.Schema:
        """Returns a schema of rows without the comments of columns that have one in the table.

        A version may have reworded them, and delta-rs refuses rows whose comments differ from those of the table.
        """
        commented = {field.name for field in self.table.schema().fields if field.metadata}
        return pa.schema([field.remove_metadata() if field.name in commented else field for field in schema])

    def _commit(self, actions: Sequence[AddAction | RemoveAction], **how: Any) -> None:
        """Commits actions, and moves to exactly this commit: later ones were not seen."""
        table, seen = self.table, self.table.version()
        table.create_write_transaction(
            list(actions), "append", table.schema(), table.metadata().partition_columns, **how
        )
        table.load_as_version(seen + 1)


def is_outdated(error: Exception) -> bool:
    """Whether a table failed because its handle needs a file or an entry of the log that has been deleted since."""
    return bool(_OUTDATED.search(str(error)))


def create_table(spec: TableSpec, warehouse: str, properties: Mapping[str, str] | None = None) -> bool:
    """Creates an empty table; returns False if there is one. Raises Unreachable if the warehouse cannot be written."""
    if is_table(uri := spec.uri(warehouse)):
        return False
    try:
        DeltaTable.create(
            uri,
            spec.schema,
            mode="error",
            name=spec.name,
            description=spec.about.description,
            partition_by=list(spec.partition_by),
            configuration={**spec.properties, **(properties or {})},
            raise_if_key_not_exists=False,
        )
    except (DeltaError, OSError) as error:
        if is_table(uri):  # another writer was first, or only the response was lost
            return False
        raise Unreachable(
            f"the warehouse {warehouse} cannot be written: {one_line(error)}. Correct the path, or its permissions"
        ) from error
    return True
