"""Instants in integer milliseconds since 1970: the clock, and how they are written for people and for SQL."""

import time
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_TEXT_MS: Final = ((1 << 63) - 1) // 1_000_000


def now_ms() -> int:
    """Returns the time of this machine's clock in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def ms_of(instant: datetime) -> int:
    """Returns an instant in milliseconds since 1970."""
    return round(instant.timestamp() * 1000)


def moment(milliseconds: int) -> datetime:
    """Returns milliseconds since 1970 as a datetime in UTC; floats would be a millisecond off after 2242."""
    return _START + timedelta(milliseconds=milliseconds)


def utc_sql(milliseconds: int) -> str:
    """Returns milliseconds since 1970 as a literal of delta-rs, which cannot cast a number to a timestamp in UTC.

    It reads texts in nanoseconds, which end in 2262; all windows end later once the input was ended.
    """
    if milliseconds > _LAST_TEXT_MS:
        return f"arrow_cast({milliseconds * 1000}, 'Timestamp(Microsecond, Some(\"UTC\"))')"
    return f"'{moment(milliseconds).isoformat(timespec='milliseconds')}'"


def time_of(milliseconds: int | None, zone: tzinfo = UTC) -> str:
    """Returns the local time in a zone, to the second; the milliseconds of a record may be out of range."""
    if milliseconds is None:
        return "none yet"
    try:
        return f"{datetime.fromtimestamp(milliseconds / 1000, zone):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return f"{milliseconds} ms, which is no time"


def span_of(milliseconds: int) -> str:
    """Returns a duration as text: in the largest unit of which it has at least two or a whole number, to a tenth.

    >>> [span_of(milliseconds) for milliseconds in (700, 60_000, 61_000, 150_000, 59_990)]
    ['0.7 s', '1 min', '61 s', '2.5 min', '1 min']
    """
    if abs(milliseconds) < 100:  # noqa: PLR2004 - a tenth of a second
        return f"{milliseconds} ms" if milliseconds else "0 s"
    _, length = _unit(milliseconds)
    rounded = round(milliseconds * 10 / length) * length // 10
    name, length = _unit(rounded)
    return f"{f'{rounded / length:.1f}'.removesuffix('.0')} {name}"


def _unit(milliseconds: int) -> tuple[str, int]:
    """Returns the name of a unit and its length in milliseconds."""
    for name, length in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000)):
        if abs(milliseconds) >= 2 * length or milliseconds % length == 0:
            return name, length
    return "s", 1000
