"""Answers statements: by the engine, or with constants for statements about sessions and versions."""

import re
from collections.abc import Iterator
from typing import Final

import duckdb
import pyarrow as pa

from pipeline.reading.sql_server.allowed import require_reading
from pipeline.reading.sql_server.database import Database
from pipeline.reading.sql_server.dialect import in_duckdb

VERSION: Final = "9.6.0"
"""The version of PostgreSQL that is reported to clients, which choose their queries of catalogs by it."""
_ROWS_AT_ONCE: Final = 1024
_IGNORED: Final = re.compile(
    r"(SET|RESET|BEGIN|START|COMMIT|END|ROLLBACK|ABORT|SAVEPOINT|RELEASE|DISCARD|DEALLOCATE|CLOSE|UNLISTEN)\b[^;]*",
    re.IGNORECASE,
)
"""Statements about a session. They change nothing: each statement is a read-only transaction of its own."""
_CONSTANTS: Final = {
    "select pg_catalog.version()": ("version", f"PostgreSQL {VERSION} (Tidemark)"),
    "select version()": ("version", f"PostgreSQL {VERSION} (Tidemark)"),
    "show transaction isolation level": ("transaction_isolation", "repeatable read"),
    "show transaction_isolation": ("transaction_isolation", "repeatable read"),
    "show transaction_read_only": ("transaction_read_only", "on"),
    "show standard_conforming_strings": ("standard_conforming_strings", "on"),
    "show search_path": ("search_path", "main"),
    "show server_version": ("server_version", VERSION),
    "show timezone": ("TimeZone", "UTC"),
}


class StatementResult:
    """The result of a statement: its columns, and its rows in batches that are computed on demand."""

    def __init__(self, tag: str, rows: pa.RecordBatchReader | None = None) -> None:
        self.tag, self.schema = tag, None if rows is None else rows.schema
        self.batches: Iterator[pa.RecordBatch] = iter(()) if rows is None else iter(rows)


def split(text: str) -> list[str]:
    """Returns the statements of a text, in order."""
    whole = text.strip().rstrip(";").strip()
    if not whole:
        return []
    if _IGNORED.fullmatch(whole) or _constant(whole):
        return [whole]
    return [statement.query for statement in duckdb.extract_statements(in_duckdb(whole))]


def answer(cursor: duckdb.DuckDBPyConnection, database: Database, statement: str) -> StatementResult:
    """Answers one statement. Raises Refused if it does more than read, duckdb.Error if it fails."""
    statement = statement.strip().rstrip(";").strip()
    if ignored := _IGNORED.fullmatch(statement):
        return StatementResult(ignored[1].upper())
    if constant := _constant(statement):
        return StatementResult("SHOW", pa.table({constant[0]: [constant[1]]}).to_reader())
    database.refresh()
    require_reading(cursor, statement, database.views)
    return StatementResult("SELECT", cursor.execute(statement).to_arrow_reader(_ROWS_AT_ONCE))


def schema_of(cursor: duckdb.DuckDBPyConnection, database: Database, statement: str) -> pa.Schema | None:
    """Returns the columns of a statement's result without its rows; None if it has no columns."""
    if not statement or _IGNORED.fullmatch(statement) or _constant(statement):
        return answer(cursor, database, statement).schema if statement else None
    database.refresh()
    require_reading(cursor, statement, database.views)
    return cursor.sql(statement).limit(0).to_arrow_table().schema


def _constant(statement: str) -> tuple[str, str] | None:
    return _CONSTANTS.get(" ".join(statement.lower().split()))
