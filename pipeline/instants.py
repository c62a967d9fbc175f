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

    It parses texts to nanoseconds, which end in 2262. At the end of the input windows are closed up to a later time,
    which is cast from microseconds.
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
