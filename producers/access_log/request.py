"""A request of an access log, and the parser of its time."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from functools import lru_cache
from typing import Final

from tidemark.schemas.time_texts import moment_of

_MONTHS: Final = "JanFebMarAprMayJunJulAugSepOctNovDec"
_LETTERS: Final = 3
_CLF_TIME: Final = re.compile(r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):([0-5]\d|60) ([+-])(\d\d)(\d\d)")
_NUMBER: Final = re.compile(r"(\d{1,19})(?:\.(\d+))?", re.ASCII)
_WITH_EXPONENT: Final = re.compile(r"\d{1,19}(?:\.\d+)?[eE]\+?\d{1,2}", re.ASCII)
_FIRST_MS: Final = 10**11
"""Numbers of at least this are milliseconds, from 1973 on; as seconds they would be in the year 5138."""
_LEAP_SECOND: Final = re.compile(r"^([^T ]++[T ]\d\d(?::\d\d:|\d\d))60")
_LONGEST_TIME: Final = 80
"""Times are cached: a longer text, which cannot be a time, must not fill the memory."""
_END_MS: Final = 253_402_300_800_000


@dataclass(frozen=True, slots=True)
class Request:
    """A request as logged. A field is None if the log does not record it, "" if the request did not have it."""

    address: str
    time_ms: int
    line: str
    """The request line, `GET /path HTTP/1.1`."""
    status: int
    referrer: str | None = None
    agent: str | None = None
    site: str | None = None
    """Scheme and host, `https://shop.example`."""
    purpose: str | None = None
    """The header Sec-Purpose."""


def time_ms(text: str) -> int:
    """Returns the milliseconds since 1970 of a logged time.

    `text` is like `01/May/2024:12:00:00 +0000`, a text of `schemas/time_texts.py` with a time zone, or a number of
    seconds (with an optional fraction), milliseconds, microseconds or nanoseconds. Raises ValueError for anything
    else, and for a time that is not after 1970 and before the year 10000.
    """
    if len(text) > _LONGEST_TIME:
        raise ValueError(f"{text[:_LONGEST_TIME]!r}... is not the time of a request")
    return _checked_ms(text)


@lru_cache(maxsize=4096)
def _checked_ms(text: str) -> int:
    instant_ms = _time_ms(text)
    if not 0 < instant_ms < _END_MS:
        raise ValueError(f"{text!r} is not the time of a request")
    return instant_ms


def _time_ms(text: str) -> int:
    if match := _CLF_TIME.fullmatch(text):
        day, month, year, hour, minute, second, sign, hours, minutes = match.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes)) * (-1 if sign == "-" else 1)
        month_number = _MONTHS.find(month) // _LETTERS + 1
        moment = datetime(int(year), month_number, int(day), int(hour), int(minute), tzinfo=timezone(offset))
        return _ms(moment) + int(second) * 1000
    if match := _NUMBER.fullmatch(f"{Decimal(text):f}" if _WITH_EXPONENT.fullmatch(text) else text):
        return _number_ms(int(match[1]), match[2] or "")
    # `datetime` has no leap second: it becomes the second after its minute.
    before = _LEAP_SECOND.sub(r"\g<1>59", text, 1)
    moment = moment_of(before)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no offset from UTC")
    return _ms(moment) + (1000 if before != text else 0)


def _number_ms(number: int, fraction: str) -> int:
    """Returns the milliseconds of a count since 1970 of seconds, milli-, micro- or nanoseconds, by its size."""
    if number < _FIRST_MS:
        return number * 1000 + int(f"{fraction}000"[:3])
    while number >= _FIRST_MS * 1000:
        number //= 1000
    return number


def _ms(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
