"""Writing ahead: a batch's rows before its commit. They are void until the ledger has the batch."""

from typing import Final

from deltalake import DeltaTable
from pyspark.sql import DataFrame

from pipeline.tables.schemas import TableSpec
from pipeline.tables.swap import swap

SMALL_BYTES: Final = 256 * 1024 * 1024


class Appender:
    """Appends to one table, a task at a time."""

    def __init__(self, spec: TableSpec, warehouse: str) -> None:
        self._spec = spec
        self._uri = spec.uri(warehouse)
        self._table = DeltaTable(self._uri)

    def append(self, rows: DataFrame, size: int) -> None:
        """Adds the rows, `size` bytes of them: few through the driver, many by Spark, which has room for any number.

        A commit of Spark's costs ten times as much CPU as one of delta-rs.
        """
        if size > SMALL_BYTES:
            rows.write.format("delta").mode("append").save(self._uri)
        else:
            data = rows.toArrow().select(self._spec.schema.names).cast(self._spec.schema)
            while not swap(self._table, data):
                pass  # maintenance took the version
