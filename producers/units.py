"""Durations, instants and numbers as people type them; times in integer milliseconds."""

import math
import re
from datetime import datetime

_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_INSTANTS = "write epoch milliseconds or ISO 8601 like 2024-05-01T00:00:00Z"
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def duration_ms(text: str) -> int:
    """`500ms`, `5s`, `1.5m`, `1h` or `1d` in milliseconds; ValueError for anything else."""
    match = _DURATION.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is not a duration; write it like 500ms, 5s, 10m, 1h or 1d")
    return round(float(match[1]) * _MS[match[2]])


def length_ms(text: str) -> int:
    """A duration of at least a millisecond, in milliseconds; ValueError otherwise."""
    length = duration_ms(text)
    if length == 0:
        raise ValueError(f"{text!r} is no time at all; write a duration above 0")
    return length


def instant_ms(text: str) -> int:
    """Epoch milliseconds or ISO 8601 with an offset, in epoch milliseconds; ValueError otherwise."""
    if text.strip().isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{text!r} is not an instant; {_INSTANTS}") from None
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} does not say its offset from UTC; {_INSTANTS}")
    return round(moment.timestamp() * 1000)


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
