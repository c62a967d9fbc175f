"""Parsers of numbers and durations on the command line."""

import math

from tidemark.command_line.times import duration_ms


def length_ms(text: str) -> int:
    """Returns a duration above 0 in milliseconds. Raises ValueError for any other text."""
    length = duration_ms(text)
    if length == 0:
        raise ValueError(f"{text!r} is zero; write a duration above 0")
    return length


def share(text: str) -> float:
    """Returns a number from 0 to 1. Raises ValueError for any other text."""
    value = _number(text)
    if not 0 <= value <= 1:
        raise ValueError(f"{text!r} is not a share; write a number from 0 to 1, like 0.01")
    return value


def rate(text: str) -> float:
    """Returns a rate in events per second, 0 or more. Raises ValueError for any other text."""
    value = _number(text)
    if not 0 <= value < math.inf:
        raise ValueError(f"{text!r} is not a rate; write a number of at least 0")
    return value


def whole(text: str) -> int:
    """Returns a whole number above 0; `_` may separate digits. Raises ValueError for any other text."""
    digits = text.replace("_", "")
    if not digits.isdecimal() or int(digits) == 0:
        raise ValueError(f"{text!r} is not a whole number above 0")
    return int(digits)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
