"""Numbers and lengths as users type them."""

import math

from command_line.times import duration_ms


def length_ms(text: str) -> int:
    """A duration of at least a millisecond, in milliseconds; ValueError otherwise."""
    length = duration_ms(text)
    if length == 0:
        raise ValueError(f"{text!r} is no time at all; write a duration above 0")
    return length


def share(text: str) -> float:
    """A number from 0 to 1; ValueError otherwise."""
    value = _number(text)
    if not 0 <= value <= 1:
        raise ValueError(f"{text!r} is not a share; write a number from 0 to 1, like 0.01")
    return value


def rate(text: str) -> float:
    """Events per second, 0 or more; ValueError otherwise."""
    value = _number(text)
    if not 0 <= value < math.inf:
        raise ValueError(f"{text!r} is not a rate; write a number from 0 up")
    return value


def whole(text: str) -> int:
    """A whole number above zero, `_` allowed between digits; ValueError otherwise."""
    digits = text.replace("_", "")
    if not digits.isdecimal() or int(digits) == 0:
        raise ValueError(f"{text!r} is not a whole number above 0")
    return int(digits)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
