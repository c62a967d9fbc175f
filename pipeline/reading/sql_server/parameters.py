"""Replaces parameters of a prepared statement by literals, so that the checked text is the executed text."""

import re
import struct
from collections.abc import Mapping, Sequence
from typing import Final

from pipeline.reading.sql_server.dialect import VERBATIM
from pipeline.reading.sql_server.wire import LONGEST, Refused

_WORDS: Final = re.compile(VERBATIM + r"|\$(\d{1,5})", re.DOTALL)
"""Matches strings, names and comments, in which `$1` is not a parameter, and parameters."""
_TYPES: Final[Mapping[int, tuple[str, str]]] = {
    16: ("BOOLEAN", "?"),
    20: ("BIGINT", "q"),
    21: ("SMALLINT", "h"),
    23: ("INTEGER", "i"),
    700: ("FLOAT", "f"),
    701: ("DOUBLE", "d"),
    1082: ("DATE", ""),
    1114: ("TIMESTAMP", ""),
    1184: ("TIMESTAMPTZ", ""),
    1700: ("DECIMAL(38, 9)", ""),
}
"""Name in DuckDB and binary form (as for `struct`; empty: text only) of a type, by its number in PostgreSQL."""
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
    name, packed = _TYPES.get(oid, ("", ""))
    if form == 1 and oid not in _TEXTS:
        if not packed or struct.calcsize(f"!{packed}") != len(value):
            raise Refused("0A000", f"parameters of type {oid} are supported as text only")
        text = str(struct.unpack(f"!{packed}", value)[0])
    else:
        text = _text(value)
    quoted = "'" + text.replace("'", "''") + "'"
    return f"CAST({quoted} AS {name})" if name else quoted


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise Refused("22021", "a parameter is not UTF-8") from error
