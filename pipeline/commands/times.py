"""The clock, and how verbs write times and spans of time for people."""

import time
from datetime import UTC, datetime, tzinfo


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def ms_of(moment: datetime) -> int:
    """A moment in milliseconds since the epoch."""
    return round(moment.timestamp() * 1000)


def time_of(milliseconds: int | None, zone: tzinfo = UTC) -> str:
    """A moment by the clocks of a zone, to the second; what a record claims may be no time at all."""
    if milliseconds is None:
        return "none yet"
    try:
        return f"{datetime.fromtimestamp(milliseconds / 1000, zone):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return f"{milliseconds} ms, which is no time"


def span_of(milliseconds: int) -> str:
    """A span of time in its largest unit of which there are two."""
    seconds = milliseconds / 1000
    for name, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {name}"
    return f"{seconds:.1f} s"
