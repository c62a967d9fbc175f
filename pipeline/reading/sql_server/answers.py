"""Answers statements: by the session, or by the engine."""

import re
from typing import Final
from weakref import WeakSet

import duckdb
import pyarrow as pa

from pipeline.reading.sql_server.allowed import require_reading
from pipeline.reading.sql_server.database import Database
from pipeline.reading.sql_server.dialect import VERBATIM, in_duckdb
from pipeline.reading.sql_server.session import Session
from pipeline.reading.sql_server.statement_result import StatementResult

_PIECES: Final = re.compile(VERBATIM + r"|(?P<end>;)", re.DOTALL)
"""Matches texts, names and comments, in which a semicolon ends nothing, and the ends of statements."""
_COMMENTS: Final = re.compile(r"(?:\s+|--[^\n]*|/\*.*?\*/)*", re.DOTALL)


def split(text: str) -> list[str]:
    """Returns the statements of a text, in order, without comments before them."""
    ends = [piece.start() for piece in _PIECES.finditer(text) if piece["end"]]
    pieces = (text[start:end] for start, end in zip([0, *(end + 1 for end in ends)], [*ends, len(text)], strict=True))
    return [statement for piece in pieces if (statement := _COMMENTS.sub("", piece, count=1).strip())]


class Answers:
    """Answers the statements of a client, and interrupts those that run."""

    def __init__(self, database: Database, session: Session) -> None:
        self._database, self._session = database, session
        self._cursors: WeakSet[duckdb.DuckDBPyConnection] = WeakSet()

    def answer(self, statement: str) -> StatementResult:
        """Answers one statement. Raises Refused if it does more than read, duckdb.Error if it fails."""
        result = self._session.answer(statement)
        return result or StatementResult.of_query(*self._checked(statement))

    def schema_of(self, statement: str) -> pa.Schema | None:
        """Returns the columns of a statement's result without its rows; None if it has no columns."""
        if not statement or self._session.is_session(statement):
            return None
        shown = self._session.shown(statement)
        if shown is not None:
            return shown.schema
        cursor, query = self._checked(statement)
        return cursor.sql(query).limit(0).to_arrow_table().schema

    def interrupt(self) -> None:
        """Ends the statements that run."""
        for cursor in [*self._cursors]:
            cursor.interrupt()

    def _checked(self, statement: str) -> tuple[duckdb.DuckDBPyConnection, str]:
        """Returns a connection and the query in DuckDB's dialect, which only reads the views."""
        self._database.refresh()
        cursor = self._database.cursor(self._session.settings.values)
        self._cursors.add(cursor)
        query = in_duckdb(statement)
        require_reading(cursor, query, self._database.views)
        return cursor, query
