"""Durations as users write them: `500ms`, `30s`, `10m`, `12h`, `7d`."""

import re
from datetime import timedelta
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, PlainSerializer

from tidemark.command_line import times
from tidemark.command_line.printable import quoted

MOST: Final = 10**15
"""The largest count: the tables and Spark have integers of 64 bits."""
_LONGEST: Final = timedelta(days=36_500)
"""A century: a longer duration is a mistake."""


def parse_duration(value: Any) -> Any:
    """Parses a duration from text; returns a timedelta unchanged. Raises ValueError with a sentence.

    A number is refused in every source, because its unit is not known.

    >>> parse_duration("1.5m")
    datetime.timedelta(seconds=90)
    """
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str):
        raise ValueError(  # noqa: TRY004 - pydantic reports no TypeError
            f'{quoted(value)} is not a duration: write a number and a unit as text, such as "30s" or "10m"'
        )
    length_ms = times.duration_ms(value)
    if length_ms > _LONGEST // timedelta(milliseconds=1):
        raise ValueError(f"{quoted(value)} is too long for a duration: write no more than {_LONGEST.days}d")
    return timedelta(milliseconds=length_ms)


def _positive(value: timedelta) -> timedelta:
    if value < timedelta(milliseconds=1):
        raise ValueError("must be at least 1ms")
    return value


def milliseconds(value: timedelta) -> int:
    """Returns a duration in whole milliseconds."""
    return value // timedelta(milliseconds=1)


def write_duration(value: timedelta) -> str:
    """Formats a duration for `parse_duration`, in the largest unit of which it is a whole number."""
    return write_milliseconds(milliseconds(value))


def write_milliseconds(duration_ms: int) -> str:
    """Formats a duration in milliseconds like `write_duration`."""
    unit = (
        next(unit for unit in reversed(times.MS_PER_UNIT) if duration_ms % times.MS_PER_UNIT[unit] == 0)
        if duration_ms
        else "s"
    )
    return f"{duration_ms // times.MS_PER_UNIT[unit]}{unit}"


def _parse_duration_or_off(value: Any) -> Any:
    return None if value == "off" else parse_duration(value)


_AS_TEXT: Final = PlainSerializer(write_duration, when_used="json")
_FORM: Final = "DURATION"

Duration = Annotated[timedelta, BeforeValidator(parse_duration), _AS_TEXT, _FORM]
DurationOrOff = Annotated[
    timedelta | None,
    BeforeValidator(_parse_duration_or_off),
    PlainSerializer(lambda value: "off" if value is None else write_duration(value), when_used="json"),
    "DURATION|off",
]
"""None if it is `off`."""
PositiveDuration = Annotated[timedelta, BeforeValidator(parse_duration), AfterValidator(_positive), _AS_TEXT, _FORM]


def _parse_duration_or_count(value: Any) -> Any:
    """Parses digits as a count of events, and any other text as a duration. Returns a number unchanged."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return int(value) if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value) else parse_duration(value)


def _positive_or_count(value: timedelta | int) -> timedelta | int:
    if isinstance(value, timedelta):
        return _positive(value)
    if not 0 < value <= MOST:
        raise ValueError(f"must be at least 1 event, and at most {MOST}")
    return value


PositiveDurationOrCount = Annotated[
    timedelta | int,
    BeforeValidator(_parse_duration_or_count),
    AfterValidator(_positive_or_count),
    PlainSerializer(lambda value: value if isinstance(value, int) else write_duration(value), when_used="json"),
    "DURATION|INTEGER",
]
"""A number without a unit is a count of events."""
