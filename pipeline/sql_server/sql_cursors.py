"""DECLARE, FETCH and MOVE: portals that a client names in SQL. They go forward only."""

import re
from collections.abc import Callable
from typing import Final

import pyarrow as pa

from tidemark.pipeline.sql_server.client_session import Session
from tidemark.pipeline.sql_server.patterns import NAME, words
from tidemark.pipeline.sql_server.portals import Portal
from tidemark.pipeline.sql_server.statement_result import StatementResult
from tidemark.pipeline.sql_server.wire import Refused

_DECLARE: Final = words(
    rf"DECLARE {NAME} ((?:(?:BINARY|INSENSITIVE|ASENSITIVE|NO|SCROLL) )*)CURSOR (?:(WITH|WITHOUT) HOLD )?FOR (.+)"
)
_BACK: Final = r"(?:BACKWARD|PRIOR|FIRST|LAST|ABSOLUTE|RELATIVE)(?: -?\d+| ALL)?"
_COUNT: Final = rf"(?:(NEXT|FORWARD ALL|FORWARD \d+|FORWARD|ALL|\d+|{_BACK}) )?"
_FETCH: Final = words(rf"(FETCH|MOVE) {_COUNT}(?:(?:FROM|IN) )?{NAME}")


class SqlCursors:
    """The cursors of a client. `query` answers the statement of a cursor."""

    def __init__(self, session: Session, query: Callable[[str], StatementResult]) -> None:
        self._session, self._query = session, query

    def answer(self, statement: str) -> StatementResult | None:
        """Executes a statement about cursors; None for other statements. Raises Refused."""
        if match := _DECLARE.fullmatch(statement):
            self._declare(match)
            return StatementResult("DECLARE CURSOR")
        match = _FETCH.fullmatch(statement)
        return self._fetch(match) if match else None

    @staticmethod
    def is_known(statement: str) -> bool:
        """Returns whether a statement is about cursors."""
        return bool(_DECLARE.fullmatch(statement) or _FETCH.fullmatch(statement))

    def schema_of(self, statement: str) -> pa.Schema | None:
        """Returns the columns of FETCH; None for other statements."""
        match = _FETCH.fullmatch(statement)
        return self._rows_of(match[3]).schema if match and match[1].upper() == "FETCH" else None

    def _declare(self, match: re.Match[str]) -> None:
        name, modes, hold, query = match.groups()
        is_held = (hold or "").upper() == "WITH"
        if re.search(r"BINARY|(?<!NO )SCROLL", " ".join(modes.upper().split())):
            raise Refused("0A000", "cursors go forward only, with values as text: leave out SCROLL and BINARY")
        if self._session.status == b"I" and not is_held:
            raise Refused("25P01", "a cursor needs a transaction: BEGIN starts one, or declare it WITH HOLD")
        name = name.strip('"')
        if name in self._session.portals:
            raise Refused("42P03", f"the cursor {name} exists")
        self._session.require_room(self._session.portals, name, query)
        self._session.portals[name] = Portal(query, (), answer=self._query(query), is_held=is_held)

    def _fetch(self, match: re.Match[str]) -> StatementResult:
        verb, direction = match[1].upper(), (match[2] or "NEXT").upper().split()
        if direction[0] not in ("NEXT", "FORWARD", "ALL") and not direction[0].isdigit():
            raise Refused("55000", "cursors go forward only")
        rows = self._rows_of(match[3])
        count = None if direction[-1] == "ALL" else int(direction[-1]) if direction[-1].isdigit() else 1
        if verb == "FETCH":
            return StatementResult(verb, rows.schema, rows.take(count), rows)
        return StatementResult(f"MOVE {sum(batch.num_rows for batch in rows.take(count))}")

    def _rows_of(self, name: str) -> StatementResult:
        portal = self._session.portals.get(name.strip('"'))
        if portal is None or portal.answer is None:
            raise Refused("34000", f"there is no cursor {name}")
        return portal.answer
