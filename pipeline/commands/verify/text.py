"""How sentences name times, windows and keys."""

from collections.abc import Sequence
from datetime import UTC, datetime

from pipeline.commands.verify.verification import Row
from pipeline.event_time import rules


def moment(milliseconds: int | None) -> str:
    """A time in UTC."""
    if milliseconds is None or milliseconds == rules.NO_WATERMARK:
        return "none"
    if not rules.EARLIEST_EVENT_MS <= abs(milliseconds) + 1 <= rules.LATEST_EVENT_MS:
        return f"{milliseconds} ms"
    told = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return told.isoformat(timespec="milliseconds").replace(".000", "").replace("+00:00", "Z")


def window(row: Row) -> str:
    """The window of a row with `start_ms` and `end_ms`."""
    return f"window [{moment(row['start_ms'])}, {moment(row['end_ms'])})"


def cell(row: Row, keys: Sequence[str]) -> str:
    """A window and the keys in it."""
    told = ", ".join(f"{key} {row[key]!r}" for key in keys)
    return f"{window(row)} of {told}" if told else window(row)
