"""The result of a statement."""

from collections.abc import Iterable, Iterator
from typing import Final

import duckdb
import pyarrow as pa

from tidemark.pipeline.sql_server.copying import CopyFormat

_ROWS_AT_ONCE: Final = 1024


class StatementResult:
    """The result of a statement: its columns, and its rows in batches that are computed on demand."""

    def __init__(
        self, tag: str, schema: pa.Schema | None = None, rows: Iterable[pa.RecordBatch] = (), source: object = None
    ) -> None:
        """`tag` is sent at the end. `source` is what the rows need to live, such as the engine's connection."""
        self.tag, self.schema, self._source = tag, schema, source
        self.copied: tuple[CopyFormat, pa.Schema] | None = None
        """The format and columns of copied rows; None for rows as such."""
        self._batches = iter(rows)
        self._rest: pa.RecordBatch | None = None

    @classmethod
    def of_query(cls, cursor: duckdb.DuckDBPyConnection, query: str) -> "StatementResult":
        """Runs a query. `cursor` is used for this query only, because another one would end its rows."""
        reader = cursor.execute(query).to_arrow_reader(_ROWS_AT_ONCE)
        return cls("SELECT", reader.schema, reader, cursor)

    @classmethod
    def of_copy(cls, form: CopyFormat, rows: "StatementResult") -> "StatementResult":
        """Returns the result of COPY for the rows of its query."""
        result = cls("COPY", None, rows.take(), rows)
        result.copied = (form, rows.schema)
        return result

    def take(self, rows: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yields the batches of the next `rows` rows, or of all remaining rows."""
        left = rows
        while left is None or left > 0:
            batch = self._rest or next(self._batches, None)
            self._rest = None
            if batch is None:
                return
            if left is not None:
                batch, self._rest = batch[:left], batch[left:] if batch.num_rows > left else None
                left -= batch.num_rows
            yield batch
