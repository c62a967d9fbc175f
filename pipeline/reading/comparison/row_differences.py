"""SQL over two warehouses at once: rows as multisets, by grouping both together.

EXCEPT ALL of DataFusion is an anti-join and ignores how often a row occurs, and a join loses rows whose keys are null.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from tidemark.pipeline.reading.comparison.side import NAMES, Side, SideName
from tidemark.pipeline.results.result_kind import keys_text_sql
from tidemark.pipeline.tables.query import Row, python_rows
from tidemark.pipeline.tuning import STANDARD, Tuning

EXAMPLES: Final = 5
"""At most this many keys with differences are returned."""
_MOST_PARTS: Final = 64
"""Each statement reads all rows, and has the memory of its part of the keys."""
_GROUPED_SQL: Final = """
SELECT {columns}, sum(_in_warehouse) AS _in_warehouse, sum(_in_other) AS _in_other FROM (
  SELECT {uncommented}, 1 AS _in_warehouse, 0 AS _in_other FROM ({warehouse}) AS rows WHERE {part}
  UNION ALL
  SELECT {uncommented}, 0 AS _in_warehouse, 1 AS _in_other FROM ({other}) AS rows WHERE {part}
) AS both GROUP BY {columns}
"""
_COUNTS_SQL: Final = """
SELECT coalesce(sum(_in_warehouse), 0) AS warehouse, coalesce(sum(_in_other), 0) AS other,
  coalesce(sum(CASE WHEN _in_warehouse <> _in_other THEN 1 ELSE 0 END), 0) AS different FROM ({grouped}) AS grouped
"""
_CELLS_SQL: Final = """
SELECT {cell}, sum(greatest(_in_warehouse - _in_other, 0)) AS _only_warehouse,
  sum(greatest(_in_other - _in_warehouse, 0)) AS _only_other
FROM ({grouped}) AS grouped WHERE _in_warehouse <> _in_other GROUP BY {cell}
"""
_KINDS_SQL: Final = """
SELECT sum(CASE WHEN _only_warehouse > 0 AND _only_other > 0 THEN 1 ELSE 0 END) AS changed,
  sum(CASE WHEN _only_other = 0 THEN 1 ELSE 0 END) AS only_warehouse,
  sum(CASE WHEN _only_warehouse = 0 THEN 1 ELSE 0 END) AS only_other FROM ({cells}) AS cells
"""
_EXAMPLES_SQL: Final = """
WITH grouped AS ({grouped}), first AS ({cells} ORDER BY {cell} LIMIT {limit})
SELECT grouped.* FROM grouped JOIN first ON {same} WHERE _in_warehouse <> _in_other
ORDER BY {qualified}, _in_warehouse DESC LIMIT {most}
"""


@dataclass(frozen=True, slots=True)
class DifferentRow:
    """A row, and how often each warehouse has it."""

    values: Mapping[str, Any]
    in_warehouse: int
    in_other: int


@dataclass(frozen=True, slots=True)
class RowDifferences:
    """The outcome for the rows of two tables; a key is a window with its keys, a user, or a position in Kafka."""

    warehouse_rows: int = 0
    other_rows: int = 0
    changed: int = 0
    """Keys that both have with other values, or another number of times."""
    only_warehouse: int = 0
    """Keys that only the first warehouse has, or has more often."""
    only_other: int = 0
    examples: tuple[DifferentRow, ...] = ()
    """The rows of the first few keys that differ, in order."""

    @property
    def count(self) -> int:
        """The number of keys that differ."""
        return self.changed + self.only_warehouse + self.only_other

    def plus(self, more: "RowDifferences") -> "RowDifferences":
        """Returns the outcome for the rows of both, with the examples of the first that has any."""
        return RowDifferences(
            self.warehouse_rows + more.warehouse_rows,
            self.other_rows + more.other_rows,
            self.changed + more.changed,
            self.only_warehouse + more.only_warehouse,
            self.only_other + more.only_other,
            self.examples or more.examples,
        )


@dataclass(frozen=True, slots=True)
class ComparedRows:
    """The rows of both warehouses as SQL, and the columns in which they are compared."""

    sql: Mapping[SideName, str]
    cell: Sequence[str]
    """The columns that say which row it is."""
    values: Sequence[str]
    """The other columns."""
    count: int
    """The rows of both tables, by which statements are split."""
    split_by: Sequence[str] = ()
    """The columns by which many rows are split into several statements; empty if there are never many."""


class TwoWarehouses:
    """The tables of two warehouses in one engine, each in a schema of its own: `warehouse` and `other`."""

    def __init__(self, sides: Iterable[Side], tuning: Tuning = STANDARD) -> None:
        self._engine = QueryBuilder()
        self._tuning = tuning
        for side in sides:
            self.ask(f"CREATE SCHEMA {side.name}")
            for name, table in side.tables.items():
                self._engine = self._engine.register(f'{side.name}."stored {name}"', table)
                columns = ", ".join(map(_uncommented, _columns_of(table)))
                self.ask(f'CREATE VIEW {side.name}."{name}" AS SELECT {columns} FROM {side.name}."stored {name}"')  # noqa: S608 - our own names

    def ask(self, sql: str) -> pa.Table:
        """Returns the rows of a statement."""
        return pa.table(self._engine.execute(sql))

    def create_view(self, side: SideName, name: str, query: str) -> None:
        """Creates a view over the tables of one warehouse, which `query` has under their names alone."""
        self.ask(f"SET datafusion.catalog.default_schema = '{side}'")
        self.ask(f'CREATE VIEW {side}."{name}" AS {query}')

    def compare(self, rows: ComparedRows) -> RowDifferences:
        """Returns how the rows of both warehouses differ, as multisets."""
        outcome = RowDifferences()
        for part in self._parts(rows):
            outcome = outcome.plus(self._compare(rows, part, has_examples=bool(outcome.examples)))
        return outcome

    def _parts(self, rows: ComparedRows) -> list[str]:
        """Returns conditions that split the rows; each row fulfils exactly one."""
        count = min(rows.count // self._tuning.statement_rows + 1, _MOST_PARTS) if rows.split_by else 1
        if count == 1:
            return ["true"]
        hashed = f"sha256({keys_text_sql([_quoted(name) for name in rows.split_by])})"
        firsts = [f"X'{256 * index // count:02x}'" for index in range(1, count)]
        above = ["true", *(f"{hashed} >= {first}" for first in firsts)]
        below = [*(f"{hashed} < {first}" for first in firsts), "true"]
        return [f"{low} AND {high}" for low, high in zip(above, below, strict=True)]

    def _compare(self, rows: ComparedRows, part: str, *, has_examples: bool) -> RowDifferences:
        names = [_quoted(name) for name in (*rows.cell, *rows.values)]
        grouped = _GROUPED_SQL.format(
            columns=", ".join(names),
            uncommented=", ".join(f"nullif({name}, NULL) AS {name}" for name in names),
            part=part,
            warehouse=rows.sql["warehouse"],
            other=rows.sql["other"],
        )
        counts = self._row(_COUNTS_SQL.format(grouped=grouped))
        found = RowDifferences(counts["warehouse"], counts["other"])
        if not counts["different"]:
            return found
        cell = ", ".join(map(_quoted, rows.cell))
        cells = _CELLS_SQL.format(cell=cell, grouped=grouped)
        examples = () if has_examples else self._examples(rows.cell, grouped, cells)
        return found.plus(RowDifferences(**self._row(_KINDS_SQL.format(cells=cells)), examples=examples))

    def _examples(self, cell: Sequence[str], grouped: str, cells: str) -> tuple[DifferentRow, ...]:
        names = [_quoted(name) for name in cell]
        answer = self.ask(
            _EXAMPLES_SQL.format(
                grouped=grouped,
                cells=cells,
                cell=", ".join(names),
                limit=EXAMPLES,
                most=2 * EXAMPLES,
                same=" AND ".join(f"(grouped.{name} IS NOT DISTINCT FROM first.{name})" for name in names),
                qualified=", ".join(f"grouped.{name}" for name in names),
            )
        )
        return tuple(
            DifferentRow(row, in_warehouse=row.pop("_in_warehouse"), in_other=row.pop("_in_other"))
            for row in python_rows(answer)
        )

    def _row(self, sql: str) -> Row:
        (row,) = self.ask(sql).to_pylist()
        return {name: int(value) for name, value in row.items()}


def sql_of(sides: Iterable[Side], query: Callable[[Side], str]) -> dict[SideName, str]:
    """Returns the SQL of each side by its name."""
    return dict(zip(NAMES, map(query, sides), strict=True))


def _columns_of(table: DeltaTable) -> list[str]:
    return [field.name for field in table.schema().fields]


def _uncommented(name: str) -> str:
    """Returns a column without its Delta comment, which DataFusion compares between the branches of a union.

    Times keep it, so that statistics of files still exclude windows.
    """
    quoted = _quoted(name)
    return quoted if name.startswith("window_") else f"nullif({quoted}, NULL) AS {quoted}"


def _quoted(name: str) -> str:
    return f'"{name}"'
