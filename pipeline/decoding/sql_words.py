"""The words of Spark's SQL that may be names of fields."""

import re
from collections.abc import Callable
from typing import Final

_NO_FIELD: Final = re.compile(
    r"""[rR]'[^']*' | [rR]"[^"]*" | '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" | \w+\s*\(""", re.DOTALL | re.VERBOSE
)
"""Text literals and calls of functions in Spark's SQL."""


def outside_of_texts(sql: str, change: Callable[[str], str]) -> str:
    """Returns SQL with `change` applied to what is outside of text literals and is no name of a function.

    >>> outside_of_texts("upper(a) = 'a'", str.upper)
    "upper(A) = 'a'"
    """
    kept, at = [], 0
    for found in _NO_FIELD.finditer(sql):
        kept += [change(sql[at : found.start()]), found[0]]
        at = found.end()
    return "".join([*kept, change(sql[at:])])


def words_of(sql: str) -> set[str]:
    """Returns the words of SQL that may be names of fields: those outside text literals, without names of functions."""
    return set(re.findall(r"\w+", _NO_FIELD.sub(" ", sql)))
