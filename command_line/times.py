"""Durations and instants as users write them, for every command and every source of settings."""

import re
from datetime import UTC, datetime
from typing import Final

from tidemark.command_line.printable import quoted

MS_PER_UNIT: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
"""Milliseconds per unit, the smallest unit first."""
_DURATION: Final = re.compile(r"(\d{1,20})(?:\.(\d{1,20}))?\s*(ms|s|m|h|d)")
_LAST_MS: Final = 253_402_300_799_999
"""The last millisecond of the year 9999."""


def duration_ms(text: str) -> int:
    """Returns a duration in milliseconds: `500ms`, `30s`, `1.5m`, `12h` or `7d`.

    Raises ValueError for any other format, or a fraction of a millisecond.
    """
    match = _DURATION.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{quoted(text)} is not a duration: write a number and ms, s, m, h or d, such as 30s or 10m")
    whole, decimals, unit = match[1], match[2] or "", MS_PER_UNIT[match[3]]
    scale: int = 10 ** len(decimals)
    length, rest = divmod(int(whole + decimals) * unit, scale)
    if rest:
        raise ValueError(f"{quoted(text)} is not a whole number of milliseconds")
    return length


def instant_ms(text: str) -> int:
    """Returns an instant in milliseconds since 1970: digits are milliseconds, other text is ISO 8601.

    A time without an offset is UTC. Raises ValueError with the expected formats.
    """
    instant_text = text.strip()
    if instant_text.isdecimal():
        return _milliseconds(instant_text)
    try:
        instant = datetime.fromisoformat(instant_text)
    except ValueError:
        raise ValueError(
            f"{quoted(text)} is not an instant: write milliseconds since 1970 or ISO 8601 like 2024-05-01T12:00:00Z"
        ) from None
    return round((instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp() * 1000)


def _milliseconds(digits: str) -> int:
    if len(digits) > len(str(_LAST_MS)) or int(digits) > _LAST_MS:
        raise ValueError(f"{quoted(digits)} is after the year 9999: write milliseconds since 1970")
    return int(digits)
