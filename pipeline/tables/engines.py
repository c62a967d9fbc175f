"""SQL dialects of the supported engines: table references and timestamp expressions."""

from collections.abc import Callable
from enum import StrEnum
from typing import Final

from tidemark.pipeline.tables.schemas import TableSpec


class Engine(StrEnum):
    """A supported engine."""

    SPARK = "spark"
    DUCKDB = "duckdb"
    DELTA_RS = "delta-rs"
    """`deltalake.QueryBuilder`, with the tables registered by name."""

    def time(self, milliseconds: str) -> str:
        """Returns the SQL of the UTC timestamp of an expression in milliseconds."""
        return _TIMES_SQL[self].format(milliseconds)

    def quoted(self, name: str) -> str:
        """Returns a name in the engine's quotes."""
        quote = "`" if self is Engine.SPARK else '"'
        return f"{quote}{name}{quote}"

    def table(self, spec: TableSpec, warehouse: str) -> str:
        """Returns the SQL of a table for a FROM clause."""
        return _TABLES_SQL[self](spec, warehouse)


_TIMES_SQL: Final[dict[Engine, str]] = {
    Engine.SPARK: "timestamp_millis({})",
    Engine.DUCKDB: "make_timestamptz(({}) * 1000)",
    Engine.DELTA_RS: "arrow_cast(({}) * 1000, 'Timestamp(Microsecond, Some(\"UTC\"))')",
}
_TABLES_SQL: Final[dict[Engine, Callable[[TableSpec, str], str]]] = {
    Engine.SPARK: lambda spec, warehouse: f"delta.`{spec.uri(warehouse).replace('`', '``')}`",
    Engine.DUCKDB: lambda spec, warehouse: "delta_scan('{}')".format(spec.uri(warehouse).replace("'", "''")),
    Engine.DELTA_RS: lambda spec, _: f'"{spec.name}"',
}
