"""Durations as people write them: `500ms`, `30s`, `10m`, `12h`, `7d`."""

import re
from datetime import timedelta
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, PlainSerializer

_UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
"""In milliseconds, the largest last."""


def parse_duration(value: Any) -> Any:
    """A duration from its text, anything else as it is. Raises ValueError with a sentence."""
    if not isinstance(value, str):
        return value
    found = re.fullmatch(r"\s*(\d+)\s*(ms|s|m|h|d)\s*", value)
    if not found:
        raise ValueError(f"{value!r} is not a duration: write a whole number and ms, s, m, h or d, such as 30s or 10m")
    try:
        return timedelta(milliseconds=int(found[1]) * _UNITS[found[2]])
    except OverflowError as error:
        raise ValueError(f"{value!r} is too long for a duration: write no more than {timedelta.max.days}d") from error


def _not_negative(value: timedelta) -> timedelta:
    if value < timedelta(0):
        raise ValueError("a duration cannot be negative")
    return value


def _positive(value: timedelta) -> timedelta:
    if value < timedelta(milliseconds=1):
        raise ValueError("must be at least 1ms")
    return value


def milliseconds(value: timedelta) -> int:
    """A duration as whole milliseconds, the unit used everywhere inside."""
    return value // timedelta(milliseconds=1)


def write_duration(value: timedelta) -> str:
    """A duration as `parse_duration` reads it, in the largest unit of which it is a whole number."""
    return write_milliseconds(milliseconds(value))


def write_milliseconds(left: int) -> str:
    """Milliseconds as a duration is written."""
    unit = next(unit for unit in reversed(_UNITS) if left % _UNITS[unit] == 0) if left else "s"
    return f"{left // _UNITS[unit]}{unit}"


def _or_off(value: Any) -> Any:
    return None if value == "off" else parse_duration(value)


_AS_TEXT: Final = PlainSerializer(write_duration, when_used="json")
_FORM: Final = "DURATION"

Duration = Annotated[timedelta, BeforeValidator(parse_duration), AfterValidator(_not_negative), _AS_TEXT, _FORM]
DurationOrOff = Annotated[
    Annotated[timedelta, AfterValidator(_not_negative)] | None,
    BeforeValidator(_or_off),
    PlainSerializer(lambda value: "off" if value is None else write_duration(value), when_used="json"),
    "DURATION|off",
]
"""None where it says `off`."""
PositiveDuration = Annotated[timedelta, BeforeValidator(parse_duration), AfterValidator(_positive), _AS_TEXT, _FORM]
