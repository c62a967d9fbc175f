"""SQL over Delta tables, by delta-rs and its query engine.

It is asked and no pyarrow dataset, because that costs some milliseconds per file before its first row: 0.7 s instead of
0.1 s for a ledger of 100,000 rows in 180 files and 100 windows of 46,000 users.
"""

from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

Row = dict[str, Any]


def query(sql: str, **tables: DeltaTable) -> pa.Table:
    """The rows of a statement, with each table by its name, as of the version that its handle has."""
    engine = QueryBuilder()
    for name, table in tables.items():
        engine = engine.register(name, table)
    return pa.table(engine.execute(sql))


def rows_of(sql: str, **tables: DeltaTable) -> list[Row]:
    """The same, row by row."""
    rows: list[Row] = query(sql, **tables).to_pylist()
    return rows
