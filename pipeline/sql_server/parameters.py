"""Replaces parameters of a prepared statement by literals, so that the checked text is the executed text."""

import re
from collections.abc import Sequence
from typing import Final

from tidemark.pipeline.sql_server.dialect import VERBATIM
from tidemark.pipeline.sql_server.wire import LONGEST, Refused

_WORDS: Final = re.compile(VERBATIM + r"|\$(\d{1,5})", re.DOTALL)
"""Matches strings, names and comments, in which `$1` is not a parameter, and parameters."""


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
