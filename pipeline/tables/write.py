"""Writing ahead: a batch's rows before its commit. They are void until the ledger has the batch."""

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame

from pipeline.tables.schemas import TableSpec
from pipeline.tables.swap import swap


class Appender:
    """Appends to one table, from one thread at a time."""

    def __init__(self, spec: TableSpec, warehouse: str) -> None:
        self._schema, self._uri = spec.schema, spec.uri(warehouse)
        self._table = DeltaTable(spec.uri(warehouse))

    def append(self, rows: pa.Table) -> None:
        """Adds the rows in one commit; none at all if there are none."""
        data = rows.select(self._schema.names).cast(self._schema)
        while len(data) and not swap(self._table, data):
            pass  # maintenance took the version

    def append_from_executors(self, rows: DataFrame) -> None:
        """Adds rows that are too many for the driver: those who have them write the files."""
        rows.select(*self._schema.names).write.format("delta").mode("append").save(self._uri)
