"""Catalogs, types and syntax of PostgreSQL that its clients use and DuckDB lacks."""

import re
from typing import Final

from pipeline.reading.sql_server.client_settings import VERSION

_TYPES: Final = (
    ("BIGINT", 20, "bigint"),
    ("BLOB", 17, "bytea"),
    ("BOOLEAN", 16, "boolean"),
    ("DATE", 1082, "date"),
    ("DECIMAL%", 1700, "numeric"),
    ("DOUBLE", 701, "double precision"),
    ("FLOAT", 700, "real"),
    ("INTEGER", 23, "integer"),
    ("SMALLINT", 21, "smallint"),
    ("TIMESTAMP", 1114, "timestamp without time zone"),
    ("TIMESTAMP WITH TIME ZONE", 1184, "timestamp with time zone"),
    ("VARCHAR", 1043, "character varying"),
)
"""Types as DuckDB names them, their numbers in PostgreSQL, and the names that its clients know."""
_ATTRIBUTES: Final = f"""CREATE VIEW stored.postgres.pg_attribute AS
SELECT table_oid AS attrelid, column_name AS attname, column_index AS attnum, 0 AS attndims, -1 AS attlen,
  CASE {" ".join(f"WHEN data_type LIKE '{name}' THEN {oid}" for name, oid, _ in _TYPES)} ELSE 25 END AS atttypid,
  CASE WHEN data_type LIKE 'DECIMAL%' THEN numeric_precision * 65536 + numeric_scale + 4 ELSE -1 END AS atttypmod,
  NOT is_nullable AS attnotnull, false AS atthasdef, false AS attisdropped, '' AS attidentity, '' AS attgenerated,
  true AS attislocal, 0 AS attinhcount, 0 AS attcollation, -1 AS attstattarget, NULL AS attacl
FROM duckdb_columns() WHERE database_name = 'tidemark'"""  # noqa: S608 - our own names
"""DuckDB's own view has type numbers that PostgreSQL does not have."""
_TYPE_ROWS: Final = """CREATE VIEW stored.postgres.pg_type AS
SELECT * REPLACE (0 AS typrelid, 0 AS typelem, 0 AS typarray, 0 AS typbasetype, -1 AS typtypmod, 0 AS typndims,
  0 AS typcollation, false AS typnotnull) FROM pg_catalog.pg_type"""
"""DuckDB's own view has null where PostgreSQL never has, which psqlODBC refuses."""
CATALOG: Final = (
    "CREATE MACRO format_type(oid, modifier) AS CASE oid "
    + " ".join(f"WHEN {oid} THEN '{name}'" for _, oid, name in _TYPES)
    + " ELSE 'text' END",
    *(f"CREATE TYPE {name} AS VARCHAR" for name in ("name", "regclass", "regtype", "regproc", "regnamespace")),
    f"CREATE MACRO version() AS 'PostgreSQL {VERSION} (Tidemark)'",
    "CREATE MACRO to_timestamp(text) AS system.main.to_timestamp(text), (text, form) AS text::TIMESTAMPTZ",
    "CREATE MACRO to_date(text, form) AS text::DATE",
    "CREATE MACRO _pg_expandarray(keys) AS {'x': 0, 'n': 0}",
    "CREATE MACRO array_upper(list, dimension) AS len(list)",
    "CREATE MACRO to_regtype(named) AS NULL",
    "CREATE MACRO to_regclass(named) AS NULL",
    "CREATE MACRO pg_get_userbyid(oid) AS 'tidemark'",
    "CREATE MACRO pg_get_indexdef(oid) AS NULL, (oid, part, pretty) AS NULL",
    "CREATE MACRO pg_encoding_to_char(encoding) AS 'UTF8'",
    "CREATE MACRO pg_get_serial_sequence(named, field) AS NULL",
    "CREATE MACRO pg_relation_size(oid) AS 0",
    "CREATE MACRO pg_total_relation_size(oid) AS 0",
    "CREATE MACRO json_build_object(a, b, c, d) AS json_object(a::VARCHAR, b, c::VARCHAR, d)",
    "CREATE SCHEMA stored.postgres",
    _ATTRIBUTES,
    _TYPE_ROWS,
    "CREATE VIEW stored.postgres.pg_collation AS SELECT 100 AS oid, '' AS collname, 0 AS collnamespace WHERE false",
    "CREATE VIEW stored.postgres.pg_am AS SELECT 2 AS oid, 'heap' AS amname WHERE false",
    "CREATE VIEW stored.postgres.pg_inherits AS SELECT 0 AS inhrelid, 0 AS inhparent, 1 AS inhseqno WHERE false",
    "CREATE VIEW stored.postgres.pg_policy AS SELECT 0 AS oid, '' AS polname, 0 AS polrelid WHERE false",
    "CREATE VIEW stored.postgres.pg_roles AS SELECT 10 AS oid, 'tidemark' AS rolname, false AS rolsuper",
    "CREATE VIEW stored.postgres.pg_settings AS SELECT 'max_index_keys' AS name, '32' AS setting",
    "CREATE VIEW stored.postgres.pg_user AS SELECT 'tidemark' AS usename, 10 AS usesysid, false AS usesuper",
)
"""Statements that make types, functions and relations of PostgreSQL that DuckDB does not have."""
VERBATIM: Final = r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*(?:.*?\*/|.*)"
"""Texts, names and comments, in which no word means anything; for an expression with re.DOTALL.

A comment without an end is matched, too: otherwise the search for its end would be repeated at each later comment.
"""
_QUALIFIED: Final = re.compile(
    VERBATIM + r"|(?P<collation>\bCOLLATE\s+pg_catalog\.\"?default\"?)"
    r"|\bOPERATOR\s*\(pg_catalog\.(?P<operator>[^)\w\s]+)\)"
    r"|\b(?:pg_catalog\.|information_schema\.(?=_))(?P<function>\w+)(?=\s*\()"
    r"|\bpg_catalog\.(?P<relation>pg_(?:attribute|collation|am|inherits|policy|roles|settings|type|user))\b"
    r"|(?P<member>\b\w{1,63}(?:\.\w{1,63})?)\s{0,9}=\s*ANY\s*\((?P<members>\w+\.(?:indkey|conkey))\)"
    r"|(?P<cast>::\s*|\bAS\s+)pg_catalog\.(?P<type>\w+)(?!\s*\.)",
    re.IGNORECASE | re.DOTALL,
)
"""Matches texts, names and comments, which stay unchanged, and qualified names that DuckDB does not accept."""


def in_duckdb(statement: str) -> str:
    """Returns the statement without qualified functions, operators and types, which DuckDB does not accept."""

    def plain(word: re.Match[str]) -> str:
        if word["collation"]:
            return ""
        if word["member"]:
            return f"list_contains({word['members']}, {word['member']})"
        if word["type"]:
            return f"{word['cast']}{word['type']}"
        if word["relation"]:
            return f"stored.postgres.{word['relation']}"
        return word["operator"] or word["function"] or word[0]

    return _QUALIFIED.sub(plain, statement)
