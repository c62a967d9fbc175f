"""The statements about a client's session: its settings, its transactions, and what it has prepared."""

import re
from collections.abc import Callable, Mapping
from typing import ClassVar, Final

import pyarrow as pa

from tidemark.pipeline.sql_server.client_settings import ClientSettings, Snapshot
from tidemark.pipeline.sql_server.patterns import NAME, words
from tidemark.pipeline.sql_server.portals import Portal, PreparedStatement
from tidemark.pipeline.sql_server.statement_result import StatementResult
from tidemark.pipeline.sql_server.wire import LONGEST, Refused

_MOST_PREPARED: Final = 1000
_MOST_TEXT: Final = 8 * LONGEST
"""Maximum length of the statements of a client together."""
_VALUE: Final = re.compile(r"[eE]?'((?:[^']|'')*)'|\"([^\"]*)\"|([^\s,'\"]+)")
_INTERVAL: Final = re.compile(r"INTERVAL\s+('[+-]?\d{1,2}(?=[:']))(?::00)?'(?:\s+HOUR\s+TO\s+MINUTE)?", re.IGNORECASE)
_SHOWN: Final = {"time zone": "timezone", "transaction isolation level": "transaction_isolation"}


_SCOPE: Final = "SET (?:SESSION |(LOCAL ))?"
_SET: Final = words(_SCOPE + r"(\w+)(?:\s*=\s*| TO )(.+)")
_MODES: Final = (
    r"((?:(?:ISOLATION|LEVEL|READ|ONLY|WRITE|(?:UN)?COMMITTED|REPEATABLE|SERIALIZABLE|NOT|DEFERRABLE)[\s,]*)+)"
)


class Session:
    """The state of a client between its statements. Each statement reads the newest rows, also within a transaction."""

    def __init__(self, started: Mapping[str, str]) -> None:
        """Applies the settings of the client's start message. Raises Refused for a value that has no effect."""
        self.status = b"I"
        self.settings = ClientSettings(started)
        self.prepared: dict[str, PreparedStatement] = {}
        self.portals: dict[str, Portal] = {}
        self._before: Snapshot = self.settings.snapshot()
        self._savepoints: dict[str, Snapshot] = {}

    def answer(self, statement: str) -> StatementResult | None:
        """Executes a statement about the session; None for other statements. Raises Refused if it has no effect."""
        tag = statement.split(maxsplit=1)[0].upper()
        for pattern, act in self._statements:
            if match := pattern.fullmatch(statement):
                if self.status == b"E" and act not in self._ends:
                    break
                return StatementResult(act(self, match) or tag)
        if self.status == b"E":
            raise Refused("25P02", "the transaction has failed: end it by ROLLBACK")
        shown = self.shown(statement)
        return None if shown is None else StatementResult(tag, shown.schema, shown.to_batches())

    def shown(self, statement: str) -> pa.Table | None:
        """Returns the row of SHOW with the name of a setting; None for other statements."""
        first, *words = statement.lower().split()
        name = " ".join(words)
        name = _SHOWN.get(name, name)
        values = {known: value for known, value in self.settings.values.items() if known.lower() == name}
        return pa.table({known: [value] for known, value in values.items()}) if values and first == "show" else None

    def is_session(self, statement: str) -> bool:
        """Returns whether a statement is about the session and has no rows."""
        return any(pattern.fullmatch(statement) for pattern, _ in self._statements)

    def require_room(self, named: Mapping[str, PreparedStatement | Portal], name: str, text: str) -> None:
        """Raises Refused if the client has too many statements or portals, or these are too long together."""
        if len(named) >= _MOST_PREPARED and name not in named:
            raise Refused("53000", f"this client has {_MOST_PREPARED} statements or portals: close some")
        held = [*(prepared.text for prepared in self.prepared.values()), *(p.text for p in self.portals.values())]
        if sum(map(len, held)) + len(text) > _MOST_TEXT:
            raise Refused("53200", f"the statements of this client have more than {_MOST_TEXT} characters: close some")

    def end_portals(self) -> None:
        """Forgets the portals that end with the transaction."""
        for name in [name for name, portal in self.portals.items() if not portal.is_held]:
            del self.portals[name]

    def failed(self) -> None:
        """Notes that a statement has failed."""
        self.status = b"E" if self.status != b"I" else b"I"

    def _set(self, match: re.Match[str]) -> None:
        is_local, name, text = bool(match[1]), match[2], match[3]
        if is_local and self.status == b"I":
            raise Refused("25P01", "SET LOCAL has an effect in a transaction only")
        values = ["".join(part or "" for part in value.groups()).replace("''", "'") for value in _VALUE.finditer(text)]
        is_reset = text.strip().upper() in ("DEFAULT", "LOCAL")
        self.settings.set(name, None if is_reset else ", ".join(values), is_local=is_local)

    def _set_zone(self, match: re.Match[str]) -> None:
        zone = _INTERVAL.sub(r"\1'", match[2])
        self._set(_matched(_SET, f"SET {match[1] or ''} TimeZone = {zone}"))

    def _set_encoding(self, match: re.Match[str]) -> None:
        self._set(_matched(_SET, f"SET {match[1] or ''} client_encoding = {match[2]}"))

    def _set_modes(self, match: re.Match[str]) -> None:
        _require_modes(match[1])

    def _reset(self, match: re.Match[str]) -> None:
        if match[1].upper() == "ALL":
            self.settings.reset_all()
        else:
            self.settings.set("TimeZone" if match[1].upper().startswith("TIME ") else match[1], None)

    def _begin(self, match: re.Match[str]) -> None:
        _require_modes(match[1] or "")
        if self.status == b"I":
            self.status, self._before, self._savepoints = b"T", self.settings.snapshot(), {}

    def _end(self, match: re.Match[str]) -> str:
        is_undone = self.status == b"E" or match[1].upper() in ("ROLLBACK", "ABORT")
        if is_undone and self.status != b"I":
            self.settings.restore(self._before)
        self.settings.end_transaction()
        self.status = b"I"
        self.end_portals()
        return "ROLLBACK" if is_undone else "COMMIT"

    def _save(self, match: re.Match[str]) -> None:
        self._require_transaction()
        self._savepoints[match[1]] = self.settings.snapshot()

    def _release(self, match: re.Match[str]) -> None:
        self._savepoint(match[1])
        del self._savepoints[match[1]]

    def _roll_back_to(self, match: re.Match[str]) -> None:
        self.settings.restore(self._savepoint(match[1]))
        self.status = b"T"

    def _savepoint(self, name: str) -> Snapshot:
        self._require_transaction()
        if name not in self._savepoints:
            raise Refused("3B001", f"there is no savepoint {name}")
        return self._savepoints[name]

    def _require_transaction(self) -> None:
        if self.status == b"I":
            raise Refused("25P01", "there is no transaction: BEGIN starts one")

    def _deallocate(self, match: re.Match[str]) -> None:
        if match[1].upper() == "ALL":
            self.prepared.clear()
        elif self.prepared.pop(match[1].strip('"'), None) is None:
            raise Refused("26000", f"there is no prepared statement {match[1]}")

    def _close(self, match: re.Match[str]) -> None:
        if match[1].upper() == "ALL":
            self.portals.clear()
        elif self.portals.pop(match[1].strip('"'), None) is None:
            raise Refused("34000", f"there is no cursor {match[1]}")

    def _discard(self, match: re.Match[str]) -> str:
        if match[1].upper() == "ALL":
            if self.status != b"I":
                raise Refused("25001", "DISCARD ALL cannot run in a transaction")
            self.prepared.clear()
            self.portals.clear()
            self.settings.reset_all()
        return f"DISCARD {match[1].upper()}"

    def _nothing(self, _: re.Match[str]) -> None:
        """Does nothing: the statement asks for a state that always holds."""

    _statements: ClassVar[tuple[tuple[re.Pattern[str], Callable[..., str | None]], ...]] = (
        (_SET, _set),
        (words(_SCOPE + "TIME ZONE (.+)"), _set_zone),
        (words(_SCOPE + "NAMES (.+)"), _set_encoding),
        (words("SET (?:SESSION CHARACTERISTICS AS )?TRANSACTION " + _MODES), _set_modes),
        (
            words("(?:SET SESSION AUTHORIZATION DEFAULT|RESET SESSION AUTHORIZATION|SET ROLE NONE|RESET ROLE)"),
            _nothing,
        ),
        (words(r"RESET (\w+|TIME ZONE)"), _reset),
        (words(f"(?:BEGIN|START TRANSACTION)(?: WORK| TRANSACTION)?(?: {_MODES})?"), _begin),
        (words("(COMMIT|END|ROLLBACK|ABORT)(?: WORK| TRANSACTION)?(?: AND NO CHAIN)?"), _end),
        (words(f"SAVEPOINT {NAME}"), _save),
        (words(f"RELEASE(?: SAVEPOINT)? {NAME}"), _release),
        (words(f"ROLLBACK(?: WORK| TRANSACTION)? TO(?: SAVEPOINT)? {NAME}"), _roll_back_to),
        (words(f"DEALLOCATE(?: PREPARE)? {NAME}"), _deallocate),
        (words(f"CLOSE {NAME}"), _close),
        (words("DISCARD (ALL|PLANS|SEQUENCES|TEMP|TEMPORARY)"), _discard),
        (words(r"UNLISTEN (?:\*|\w+)"), _nothing),
    )
    """The statements, and what each does; its value is a tag other than the first word."""
    _ends: ClassVar = (_end, _roll_back_to)


def _require_modes(modes: str) -> None:
    """Raises Refused for a mode of transactions that would not take effect."""
    if re.search(r"REPEATABLE|SERIALIZABLE", modes, re.IGNORECASE):
        raise Refused("0A000", "each statement reads the newest rows: transactions are READ COMMITTED only")
    if re.search(r"WRITE", modes, re.IGNORECASE):
        raise Refused("25006", "this end point is read-only")


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if match is None:
        raise Refused("42601", f"not understood: {text}")
    return match
