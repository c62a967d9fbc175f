"""Durations and instants as users write them, for every command and every source of settings."""

import re
from datetime import UTC, datetime
from typing import Final

MS_PER_UNIT: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
"""Milliseconds per unit, the smallest unit first."""
_DURATION: Final = re.compile(r"(\d+)(?:\.(\d+))?\s*(ms|s|m|h|d)")


def duration_ms(text: str) -> int:
    """Returns a duration in milliseconds: `500ms`, `30s`, `1.5m`, `12h` or `7d`.

    Raises ValueError for any other format, or a fraction of a millisecond.
    """
    match = _DURATION.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is not a duration: write a number and ms, s, m, h or d, such as 30s or 10m")
    whole, decimals, unit = match[1], match[2] or "", MS_PER_UNIT[match[3]]
    scale: int = 10 ** len(decimals)
    length, rest = divmod(int(whole + decimals) * unit, scale)
    if rest:
        raise ValueError(f"{text!r} is not a whole number of milliseconds")
    return length


def instant_ms(text: str) -> int:
    """Returns an instant in milliseconds since 1970: digits are milliseconds, other text is ISO 8601.

    A time without an offset is UTC. Raises ValueError with the expected formats.
    """
    if (digits := text.strip()).isdecimal():
        return int(digits)
    try:
        instant = datetime.fromisoformat(digits)
    except ValueError:
        raise ValueError(
            f"{text!r} is not an instant: write milliseconds since 1970 or ISO 8601 like 2024-05-01T12:00:00Z"
        ) from None
    return round((instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp() * 1000)
