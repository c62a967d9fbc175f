"""Expressions for statements that the engine does not parse."""

import re
from typing import Final

NAME: Final = r"(\w+|\"[^\"]+\")"
"""A name, with quotes or without."""


def words(pattern: str) -> re.Pattern[str]:
    """Returns an expression in which a space is white space, and letters have any case."""
    return re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE | re.DOTALL)
