"""Answers statements: by the session, or by the engine."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import Final
from weakref import WeakSet

import duckdb
import pyarrow as pa

from tidemark.pipeline.sql_server.allowed import reading
from tidemark.pipeline.sql_server.client_session import Session
from tidemark.pipeline.sql_server.copying import copy_of
from tidemark.pipeline.sql_server.database import Database
from tidemark.pipeline.sql_server.dialect import VERBATIM, in_duckdb
from tidemark.pipeline.sql_server.parameter_types import parameter_types
from tidemark.pipeline.sql_server.sql_cursors import SqlCursors
from tidemark.pipeline.sql_server.statement_result import StatementResult
from tidemark.pipeline.sql_server.wire import Refused

_AGAIN_S: Final = 0.05
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
        self._sql_cursors = SqlCursors(session, self._query)
        self._lock = Lock()
        self._interrupted_by = ""

    def answer(self, statement: str) -> StatementResult:
        """Answers one statement. Raises Refused if it does more than read, duckdb.Error if it fails."""
        result = self._session.answer(statement) or self._sql_cursors.answer(statement)
        if not result and (copy := copy_of(statement)):
            return StatementResult.of_copy(copy[1], self._query(copy[0]))
        return result or self._query(statement)

    def schema_of(self, statement: str) -> pa.Schema | None:
        """Returns the columns of a statement's result without its rows; None if it has no columns."""
        if not statement or self._session.is_session(statement) or copy_of(statement):
            return None
        shown = self._session.shown(statement)
        if shown is not None:
            return shown.schema
        if self._sql_cursors.is_known(statement):
            return self._sql_cursors.schema_of(statement)
        cursor, query = self._checked(statement)
        return cursor.sql(query).limit(0).to_arrow_table().schema

    def parameter_types(self, statement: str) -> dict[int, int]:
        """Returns the types of the statement's parameters by number, as far as it shows them."""
        cursor = self._database.cursor(self._session.settings.values)
        serialized = cursor.execute("SELECT json_serialize_sql(?)", [in_duckdb(statement)]).fetchone()
        return parameter_types(serialized[0] if serialized else "{}", self._database.columns(cursor))

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Ends the block after the client's `statement_timeout`. Raises Refused if the block was interrupted."""
        self._interrupted_by = ""
        timeout_ms, done = int(self._session.settings.values["statement_timeout"]), Event()
        if timeout_ms:
            Thread(
                target=self._interrupt_after, args=(timeout_ms / 1000, done), name="sql-timeout", daemon=True
            ).start()
        try:
            yield
        except (duckdb.Error, pa.ArrowException) as error:
            raise Refused("57014", self._interrupted_by) if self._interrupted_by else error from None
        finally:
            done.set()

    def interrupt(self, reason: str = "the client canceled the statement") -> None:
        """Ends the statement that runs."""
        self._interrupted_by = reason
        with self._lock:
            cursors = [*self._cursors]
        for cursor in cursors:
            cursor.interrupt()

    def _interrupt_after(self, seconds: float, done: Event) -> None:
        """Interrupts until the statement is `done`, because a query that starts later clears an interruption."""
        while not done.wait(seconds):
            seconds = _AGAIN_S
            self.interrupt("the statement took longer than statement_timeout")

    def _query(self, statement: str) -> StatementResult:
        return StatementResult.of_query(*self._checked(statement))

    def _checked(self, statement: str) -> tuple[duckdb.DuckDBPyConnection, str]:
        """Returns a connection and the query in DuckDB's dialect, which only reads the views."""
        self._database.refresh()
        cursor = self._database.cursor(self._session.settings.values)
        with self._lock:
            self._cursors.add(cursor)
        return cursor, reading(cursor, in_duckdb(statement), self._database.views)
