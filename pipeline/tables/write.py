"""Writing ahead: a batch's rows before its commit. They are void until the ledger has the batch."""

from collections.abc import Callable
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame

from pipeline.tables.schemas import TableSpec
from pipeline.tables.swap import swap

Write = Callable[[], None]
"""Appends a batch's rows to a table."""
SMALL_BYTES: Final = 256 * 1024 * 1024


class Appender:
    """Appends to one table, a task at a time."""

    def __init__(self, spec: TableSpec, warehouse: str) -> None:
        self._spec = spec
        self._uri = spec.uri(warehouse)
        self._table = DeltaTable(self._uri)

    def prepare(self, rows: DataFrame, size: int) -> Write:
        """The write of a batch's rows, `size` bytes of them, to be called before its commit.

        Few rows are taken to the driver now, and the write needs no Spark any more: a commit of Spark's costs ten times
        as much CPU as one of delta-rs. Many are written by Spark, which has room for any number.
        """
        if size > SMALL_BYTES:
            return lambda: rows.write.format("delta").mode("append").save(self._uri)
        data = rows.toArrow().select(self._spec.schema.names).cast(self._spec.schema)
        return lambda: self._append(data)

    def _append(self, data: pa.Table) -> None:
        while not swap(self._table, data):
            pass  # maintenance took the version
