"""SQL over Delta tables, by the query engine of delta-rs.

A pyarrow dataset would need some milliseconds per file before its first row: 0.7 s instead of 0.1 s for a ledger of
100,000 rows in 180 files and 100 windows of 46,000 users.
"""

from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError

Row = dict[str, Any]


def query(sql: str, **tables: DeltaTable) -> pa.Table:
    """Returns the rows of a statement over `tables`, by name, each as of the version that is loaded.

    Raises ArrowInvalid if the statement cannot be planned or computed, or if a file cannot be read.
    """
    engine = QueryBuilder()
    for name, table in tables.items():
        engine = engine.register(name, table)
    try:
        rows = engine.execute(sql)
    except DeltaError as error:  # a plan is made of what is loaded: no store is asked
        raise pa.ArrowInvalid(str(error)) from error
    return pa.table(rows)


def rows_of(sql: str, **tables: DeltaTable) -> list[Row]:
    """Like `query`, but returns a list of rows."""
    rows: list[Row] = query(sql, **tables).to_pylist()
    return rows
