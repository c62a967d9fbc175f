"""Instants in integer milliseconds since 1970: the clock, and how they are written for people and for SQL."""

import time
from datetime import UTC, datetime, tzinfo


def now_ms() -> int:
    """Returns the time of this machine's clock in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def ms_of(instant: datetime) -> int:
    """Returns an instant in milliseconds since 1970."""
    return round(instant.timestamp() * 1000)


def moment(milliseconds: int) -> datetime:
    """Returns milliseconds since 1970 as a datetime in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def utc(milliseconds: int) -> str:
    """Returns milliseconds since 1970 as a literal of delta-rs, which cannot cast a number to a timestamp in UTC."""
    return moment(milliseconds).isoformat(timespec="milliseconds")


def time_of(milliseconds: int | None, zone: tzinfo = UTC) -> str:
    """Returns the local time in a zone, to the second; the milliseconds of a record may be no valid time."""
    if milliseconds is None:
        return "none yet"
    try:
        return f"{datetime.fromtimestamp(milliseconds / 1000, zone):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return f"{milliseconds} ms, which is no time"


def span_of(milliseconds: int) -> str:
    """Returns a duration in milliseconds as text, in the largest unit of which it has at least two."""
    seconds = milliseconds / 1000
    for name, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {name}"
    return f"{seconds:.1f} s"
