"""The engines that compute the verifier's SQL. Both read each table as a view with timestamps in milliseconds.

The SQL is of the dialect that DataFusion and Spark have in common, which has no division of integers and no cast of a
timestamp to an integer.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from tidemark.pipeline.verifier.verification import Row

Expected = Callable[[Row], int | list[int] | None]
"""Returns the value that a row must have, None if it has this value."""


class QueryEngine(Protocol):
    """Computes SQL over the tables of a snapshot. Raises OSError or ArrowInvalid if a table cannot be read."""

    def ask(self, sql: str) -> pa.Table:
        """Returns the rows of a query."""
        ...

    def compare(self, sql: str, expected: Expected) -> tuple[int, list[Row]]:
        """Returns the number of rows of a query, and the rows that must have another value, as column `expected`."""
        ...


Connect = Callable[[Mapping[str, DeltaTable]], QueryEngine]
"""Returns an engine with these tables, each as of the version that is loaded, by their names in SQL."""


class DataFusion:
    """The query engine of delta-rs, in the memory of this process."""

    def __init__(self, tables: Mapping[str, DeltaTable]) -> None:
        self._engine = QueryBuilder()
        for name, table in tables.items():
            self._engine = self._engine.register(f"stored_{name}", table)
            columns = ", ".join(columns_sql(table, "CAST({} AS BIGINT) / 1000"))
            self.ask(f"CREATE VIEW {name} AS SELECT {columns} FROM stored_{name}")

    def ask(self, sql: str) -> pa.Table:
        """Returns the rows of a query."""
        return pa.table(self._engine.execute(sql))

    def compare(self, sql: str, expected: Expected) -> tuple[int, list[Row]]:
        """Compares batch by batch, so that Python has no more rows than one batch and the violations."""
        checked, violations = 0, list[Row]()
        for batch in pa.RecordBatchReader.from_stream(self._engine.execute(sql)):
            checked += len(batch)
            violations += violations_in(batch.to_pylist(), expected)
        return checked, violations


def violations_in(rows: Iterable[Row], expected: Expected) -> list[Row]:
    """Returns the rows that must have another value, with this value as `expected`."""
    values = ((row, expected(row)) for row in rows)
    return [row | {"expected": value} for row, value in values if value is not None]


def columns_sql(table: DeltaTable, milliseconds: str) -> list[str]:
    """Returns the columns of a view: a timestamp `first_seen` as `first_seen_ms`, and `window_end` as `end_ms`.

    `milliseconds` is the engine's SQL of a timestamp `{}` in milliseconds.
    """
    return [
        f"{milliseconds.format(field.name)} AS {field.name.removeprefix('window_')}_ms"
        if pa.types.is_timestamp(field.type)
        else f'"{field.name}"'
        for field in pa.schema(table.schema().to_arrow())
    ]
