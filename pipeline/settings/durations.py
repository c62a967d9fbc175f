"""Durations as users write them: `500ms`, `30s`, `10m`, `12h`, `7d`."""

from datetime import timedelta
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, PlainSerializer

from command_line import times


def parse_duration(value: Any) -> Any:
    """Parses a duration from text; returns any other value unchanged. Raises ValueError with a sentence.

    >>> parse_duration("1.5m")
    datetime.timedelta(seconds=90)
    """
    if not isinstance(value, str):
        return value
    try:
        return timedelta(milliseconds=times.duration_ms(value))
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

Duration = Annotated[timedelta, BeforeValidator(parse_duration), AfterValidator(_not_negative), _AS_TEXT, _FORM]
DurationOrOff = Annotated[
    Annotated[timedelta, AfterValidator(_not_negative)] | None,
    BeforeValidator(_parse_duration_or_off),
    PlainSerializer(lambda value: "off" if value is None else write_duration(value), when_used="json"),
    "DURATION|off",
]
"""None if it is `off`."""
PositiveDuration = Annotated[timedelta, BeforeValidator(parse_duration), AfterValidator(_positive), _AS_TEXT, _FORM]
