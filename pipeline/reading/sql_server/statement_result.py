"""The result of a statement."""

from collections.abc import Iterator

import duckdb
import pyarrow as pa

_ROWS_AT_ONCE = 1024


class StatementResult:
    """The result of a statement: its columns, and its rows in batches that are computed on demand."""

    def __init__(self, tag: str, rows: pa.RecordBatchReader | None = None, of: object = None) -> None:
        """`of` is what the rows need to live, such as the engine's connection."""
        self.tag, self.schema, self._of = tag, None if rows is None else rows.schema, of
        self.batches: Iterator[pa.RecordBatch] = iter(()) if rows is None else iter(rows)

    @classmethod
    def of_query(cls, cursor: duckdb.DuckDBPyConnection, query: str) -> "StatementResult":
        """Runs a query. `cursor` is used for this query only, because another one would end its rows."""
        return cls("SELECT", cursor.execute(query).to_arrow_reader(_ROWS_AT_ONCE), cursor)
