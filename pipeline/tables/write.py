"""Writing ahead: a batch's rows before its commit. They are void until the ledger has the batch."""

from collections.abc import Mapping
from functools import partial

import pyarrow as pa
from deltalake import DeltaTable, Transaction
from deltalake.transaction import AddAction, RemoveAction

from pipeline.event_time.batch import EPOCH
from pipeline.tables.files import added
from pipeline.tables.large import commit
from pipeline.tables.ledger import replaced
from pipeline.tables.schemas import FENCED_APP, WRITER_APP, TableSpec
from pipeline.tables.swap import attempt, swap


class Appender:
    """Appends to one table, from one thread at a time; refused once a newer service has fenced the table."""

    def __init__(self, spec: TableSpec, warehouse: str) -> None:
        self._schema = spec.schema
        self.table = DeltaTable(spec.uri(warehouse))

    def append(self, rows: pa.Table, batch: int) -> None:
        """Adds a batch's rows in one commit; none at all if there are none. Raises Replaced."""
        data = rows.select(self._schema.names).cast(self._schema)
        while len(data) and not swap(self.table, data):
            # Maintenance took the version, or a newer service.
            refuse_if_fenced(self.table, batch)

    def take_in(self, folders: Mapping[str, Mapping[str, str]], batch: int) -> None:
        """The same of files that executors have written into folders below the table, each of a partition."""
        actions: list[AddAction | RemoveAction] = [
            action for folder, partition in folders.items() for action in added(self.table, folder, **partition)
        ]
        while actions and not attempt(self.table, partial(commit, self.table, actions)):
            refuse_if_fenced(self.table, batch)


def fence(table: DeltaTable, schema: pa.Schema, batch: int, *apps: str) -> None:
    """An empty commit under these applications, after which nothing of an older process can land. Raises Replaced.

    So what is void, and was written before it, can be removed once and for all.
    """
    transactions = [Transaction(app, batch) for app in apps]
    while not swap(table, schema.empty_table(), None, transactions):
        refuse_if_fenced(table, batch)


def refuse_if_fenced(table: DeltaTable, batch: int) -> None:
    """Raises Replaced if a newer service has fenced the table than the one whose batch this is."""
    newest = newest_epoch(table)
    if newest > batch // EPOCH:
        raise replaced(newest, batch // EPOCH)


def newest_epoch(table: DeltaTable) -> int:
    """The newest that has fenced the table; 0 for none."""
    return max(table.transaction_version(app) or 0 for app in (WRITER_APP, FENCED_APP)) // EPOCH
