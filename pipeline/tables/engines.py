"""The engines that readers have, and what each calls a table and a time."""

from collections.abc import Callable
from enum import StrEnum
from typing import Final

from pipeline.tables.schemas import TableSpec


class Engine(StrEnum):
    """Whose SQL it is."""

    SPARK = "spark"
    DUCKDB = "duckdb"
    DELTA_RS = "delta-rs"
    """Of `deltalake.QueryBuilder`, where the tables are registered by their names."""

    def time(self, milliseconds: str) -> str:
        """The timestamp in UTC of an expression in milliseconds."""
        return _TIMES[self].format(milliseconds)

    def quoted(self, name: str) -> str:
        """A name as it is, whatever the engine's grammar has it for."""
        mark = "`" if self is Engine.SPARK else '"'
        return f"{mark}{name}{mark}"

    def table(self, spec: TableSpec, warehouse: str) -> str:
        """A table, where a FROM wants one."""
        return _TABLES[self](spec, warehouse)


_TIMES: Final[dict[Engine, str]] = {
    Engine.SPARK: "timestamp_millis({})",
    Engine.DUCKDB: "make_timestamptz(({}) * 1000)",
    Engine.DELTA_RS: "arrow_cast(({}) * 1000, 'Timestamp(Microsecond, Some(\"UTC\"))')",
}
_TABLES: Final[dict[Engine, Callable[[TableSpec, str], str]]] = {
    Engine.SPARK: lambda spec, warehouse: f"delta.`{spec.uri(warehouse)}`",
    Engine.DUCKDB: lambda spec, warehouse: f"delta_scan('{spec.uri(warehouse)}')",
    Engine.DELTA_RS: lambda spec, _: f'"{spec.name}"',
}
