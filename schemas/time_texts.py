"""Times as text: the formats that are read, in events of any format and in logs."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

ACCEPTED: Final = (
    "ISO 8601 such as 2026-05-01T12:00:00Z, with Z, UTC, GMT, an offset or a name such as Europe/Berlin as its time "
    "zone; an abbreviation such as BST has several meanings"
)
_OFFSET: Final = r"[+-](?:(?:0[0-9]|1[0-4])(?::?[0-5][0-9])?|[0-9](?::[0-5][0-9])?)"
_NAME: Final = "[A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+"
TIME_TEXT: Final = (
    r"^\s*([0-9]{4})-?([0-9]{2})-?([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}|[0-9](?=:)):?([0-9]{2})(?::?([0-9]{2})(?:[.,]([0-9]+))?)?"
    # An offset decides: Java's name in brackets and Go's abbreviation after it say nothing more.
    rf"(?: ?(?:(?:UTC|GMT)?({_OFFSET})(?: ?\[[^\]]*\]| (?:[A-Z]+|[+-][0-9]{{2,4}}))?"
    rf"|(?:[Zz]|UTC|GMT)(?:\[[^\]]*\])?|\[?({_NAME})\]?))?(?: m=[+-][0-9.]+)?)?\s*$"
)
"""Matches a time for Python and Java: year, month, day, hour, minute, second, fraction, offset, and name of the zone.

A time without a zone is UTC. Abbreviations of zones do not match: `BST` is Dhaka's, London's or Bougainville's.
"""
_TIME_TEXT: Final = re.compile(TIME_TEXT)
_DIGITS: Final = 6


def moment_of(text: str) -> datetime:
    """Returns the moment of a time as text, naive if the text has no zone. Raises ValueError if it is not a time."""
    match = _TIME_TEXT.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not a time: expected {ACCEPTED}")
    year, month, day, hour, minute, second, fraction, offset, name = match.groups()
    micros = int(f"{fraction or 0:<0{_DIGITS}}"[:_DIGITS])
    zone = _offset(offset) if offset else _named(name) if name else UTC if re.search("[Zz]|UTC|GMT", text) else None
    date = (int(year), int(month), int(day))
    return datetime(*date, int(hour or 0), int(minute or 0), int(second or 0), micros, tzinfo=zone)


def _offset(text: str) -> tzinfo:
    digits = text[1:].replace(":", "").rjust(2, "0")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > len("hh") else (digits, "0")
    return timezone(timedelta(hours=int(hours), minutes=int(minutes)) * (-1 if text[0] == "-" else 1))


def _named(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise ValueError(f"there is no time zone {name}") from None
