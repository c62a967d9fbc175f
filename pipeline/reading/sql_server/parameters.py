"""Replaces parameters of a prepared statement by literals, so that the checked text is the executed text."""

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from pipeline.reading.sql_server.dialect import VERBATIM
from pipeline.reading.sql_server.wire import LONGEST, Refused

_WORDS: Final = re.compile(VERBATIM + r"|\$(\d{1,5})", re.DOTALL)
"""Matches strings, names and comments, in which `$1` is not a parameter, and parameters."""
_YEAR_2000: Final = datetime(2000, 1, 1)  # noqa: DTZ001 - the type says whether it is UTC


class _Type(NamedTuple):
    """The name of a type in DuckDB, its binary form as for `struct` (empty: text only), and the text of its numbers."""

    name: str
    packed: str = ""
    text: Callable[..., str] = str


def _time_text(microseconds: int) -> str:
    return str(_YEAR_2000 + timedelta(microseconds=microseconds))


_TYPES: Final[Mapping[int, _Type]] = {
    16: _Type("BOOLEAN", "?"),
    20: _Type("BIGINT", "q"),
    21: _Type("SMALLINT", "h"),
    23: _Type("INTEGER", "i"),
    700: _Type("FLOAT", "f"),
    701: _Type("DOUBLE", "d"),
    1082: _Type("DATE", "i", lambda days: str((_YEAR_2000 + timedelta(days)).date())),
    1083: _Type("TIME", "q", lambda microseconds: str(timedelta(microseconds=microseconds))),
    1114: _Type("TIMESTAMP", "q", _time_text),
    1184: _Type("TIMESTAMPTZ", "q", lambda microseconds: f"{_time_text(microseconds)}+00:00"),
    1186: _Type("INTERVAL", "qii", lambda us, days, months: f"{months} month {days} day {us} microsecond"),
    1700: _Type("DECIMAL(38, 9)"),
}
"""Types by their numbers in PostgreSQL. Source: PostgreSQL, `pg_type.dat`, and its functions `*_send`."""
_TEXTS: Final = (0, 25, 1042, 1043)


def count_of(statement: str) -> int:
    """Returns the number of parameters of a statement."""
    return max((int(word[1]) for word in _WORDS.finditer(statement) if word[1]), default=0)


def filled(statement: str, literals: Sequence[str]) -> str:
    """Returns the statement with literals in place of its parameters. Raises Refused if it becomes too long."""
    length = len(statement)

    def literal(word: re.Match[str]) -> str:
        nonlocal length
        if word[1] is None:
            return word[0]
        if not 0 < int(word[1]) <= len(literals):
            raise Refused("08P01", f"no value was sent for the parameter {word[0]}")
        text = literals[int(word[1]) - 1]
        length += len(text)
        if length > LONGEST:
            raise Refused("54000", f"the statement and its values have more than {LONGEST} characters")
        return text

    return _WORDS.sub(literal, statement)


def literal_of(value: bytes | None, oid: int, form: int) -> str:
    """Returns a literal for a value of type number `oid`, sent as text (`form` 0) or binary (1). Raises Refused."""
    if value is None:
        return "NULL"
    kind = _TYPES.get(oid, _Type(""))
    text = _text(value) if form != 1 or oid in _TEXTS else _text_of_binary(value, oid, kind)
    quoted = "'" + text.replace("'", "''") + "'"
    return f"CAST({quoted} AS {kind.name})" if kind.name else quoted


def _text_of_binary(value: bytes, oid: int, kind: _Type) -> str:
    if not kind.packed or struct.calcsize(f"!{kind.packed}") != len(value):
        raise Refused("0A000", f"parameters of type {oid} are supported as text only")
    try:
        return kind.text(*struct.unpack(f"!{kind.packed}", value))
    except OverflowError as error:
        raise Refused("22008", "a parameter is a time before the year 1 or after 9999") from error


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise Refused("22021", "a parameter is not UTF-8") from error
