"""Types of PostgreSQL that clients are sent. Source: PostgreSQL, `pg_type.dat`."""

from typing import Final, NamedTuple


class PgType(NamedTuple):
    """A type: its number and that of its arrays, its names, its size in bytes (-1: variable) and its category."""

    oid: int
    array_oid: int
    name: str
    sql_name: str
    duckdb_name: str
    size: int
    category: str
    functions: str
    """The start of the names of its functions: `int8` of `int8recv`, `date_` of `date_recv`."""

    @property
    def pattern(self) -> str:
        """A pattern of LIKE for DuckDB's name, with any precision."""
        return self.duckdb_name.replace("(38, 9)", "%")

    @property
    def array(self) -> "PgType":
        """The type of its arrays."""
        names = f"_{self.name}", f"{self.sql_name}[]", f"{self.duckdb_name}[]"
        return PgType(self.array_oid, 0, *names, -1, "A", "array_")


BYTEA: Final = 17
TEXT: Final = 25
DECIMAL: Final = 1700
SCALARS: Final = (
    PgType(16, 1000, "bool", "boolean", "BOOLEAN", 1, "B", "bool"),
    PgType(BYTEA, 1001, "bytea", "bytea", "BLOB", -1, "U", "bytea"),
    PgType(20, 1016, "int8", "bigint", "BIGINT", 8, "N", "int8"),
    PgType(21, 1005, "int2", "smallint", "SMALLINT", 2, "N", "int2"),
    PgType(23, 1007, "int4", "integer", "INTEGER", 4, "N", "int4"),
    PgType(TEXT, 1009, "text", "text", "VARCHAR", -1, "S", "text"),
    PgType(26, 1028, "oid", "oid", "UINTEGER", 4, "N", "oid"),
    PgType(700, 1021, "float4", "real", "FLOAT", 4, "N", "float4"),
    PgType(701, 1022, "float8", "double precision", "DOUBLE", 8, "N", "float8"),
    PgType(1043, 1015, "varchar", "character varying", "VARCHAR", -1, "S", "varchar"),
    PgType(1082, 1182, "date", "date", "DATE", 4, "D", "date_"),
    PgType(1083, 1183, "time", "time without time zone", "TIME", 8, "D", "time_"),
    PgType(1114, 1115, "timestamp", "timestamp without time zone", "TIMESTAMP", 8, "D", "timestamp_"),
    PgType(1184, 1185, "timestamptz", "timestamp with time zone", "TIMESTAMP WITH TIME ZONE", 8, "D", "timestamptz_"),
    PgType(1186, 1187, "interval", "interval", "INTERVAL", 16, "T", "interval_"),
    PgType(DECIMAL, 1231, "numeric", "numeric", "DECIMAL(38, 9)", -1, "N", "numeric_"),
    PgType(2950, 2951, "uuid", "uuid", "UUID", 16, "U", "uuid_"),
)
"""Two types have the name VARCHAR in DuckDB: parameters and results are `text`, columns of views `varchar`."""
TYPES: Final = (*(kind.array for kind in SCALARS), *SCALARS)
BY_OID: Final = {kind.oid: kind for kind in TYPES}
ITEMS: Final = {kind.array_oid: kind.oid for kind in SCALARS}
"""Types of arrays, with those of their items."""


def oid_of(name: str, *, is_list: bool = False) -> int:
    """Returns the number of a type of DuckDB, or of lists of it; 0 if PostgreSQL has no such type."""
    name = name.partition("(")[0]
    kind = next((kind for kind in SCALARS if kind.duckdb_name.partition("(")[0] == name), None)
    return 0 if kind is None else kind.array_oid if is_list else kind.oid
