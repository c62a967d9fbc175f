"""Writes the rows of a batch ahead of its commit. They are uncommitted until the ledger has the batch."""

from collections.abc import Mapping

import pyarrow as pa
from deltalake import Transaction
from deltalake.transaction import AddAction

from tidemark.pipeline.tables.files import added
from tidemark.pipeline.tables.handle import Handle
from tidemark.pipeline.tables.large import folder_path
from tidemark.pipeline.tables.schemas import TableSpec
from tidemark.pipeline.tables.transactions import WRITTEN_APP


class Appender:
    """Appends to one table, from one thread at a time; refused once a newer service has fenced the table.

    After an error the service must restart: the next start removes rows that may still land.
    """

    def __init__(self, spec: TableSpec, warehouse: str) -> None:
        self._schema = spec.schema
        self._handle = Handle(spec.uri(warehouse))

    def append(self, rows: pa.Table, batch: int) -> None:
        """Appends a batch's rows in one commit; without rows there is no commit. Raises Replaced."""
        data = rows.select(self._schema.names).cast(self._schema)
        while len(data) and not self._handle.swap(data, by=batch, transactions=_written(batch)):
            pass  # maintenance or a verb took the version

    def mark(self, batch: int) -> None:
        """Records a batch that has no rows for this table, as an append records others. Raises Replaced."""
        while self._handle.last(WRITTEN_APP) < batch and not self._handle.swap(
            self._schema.empty_table(), by=batch, transactions=_written(batch)
        ):
            pass

    def append_files(self, folders: Mapping[str, Mapping[str, str]], batch: int) -> None:
        """Appends files that executors wrote; `folders` has partition values by folder. Raises Replaced."""
        actions: list[AddAction] = [
            action for folder, partition in folders.items() for action in added(self._handle.table, folder, partition)
        ]
        while actions and not self._handle.commit(actions, by=batch, transactions=_written(batch)):
            pass

    def folder(self, name: str) -> str:
        """Returns the path of a folder below the table, as Hadoop writes it."""
        return folder_path(self._handle.table, name)


def _written(batch: int) -> list[Transaction]:
    return [Transaction(WRITTEN_APP, batch)]
