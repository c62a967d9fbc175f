"""Names of windows and times in the zone of a report or page. Pure."""

from datetime import UTC, date, datetime, tzinfo
from typing import Final

from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.base import Windows
from tidemark.pipeline.instants import time_of

_DATE: Final = len("2026-01-01")
_SECONDS: Final = len("2026-01-01 00:00:00")


def zone_of_report(report: Report, otherwise: tzinfo) -> tzinfo:
    """Returns the time zone of a report's windows: UTC if they are its days, and `otherwise` if they follow no zone."""
    return report.windows.time_zone or otherwise


def window_name(start: int, end: int, windows: Windows, zone: tzinfo) -> str:
    """Returns the name of the window `[start, end)` (ms): its date if it is a day, else its bounds.

    >>> from zoneinfo import ZoneInfo
    >>> from tidemark.pipeline.event_time.windows.calendar import Calendar
    >>> hour = 3_600_000
    >>> window_name(0, hour, Calendar(hour, "Europe/Berlin"), ZoneInfo("Europe/Berlin"))
    '[1970-01-01 01:00, 02:00)'
    >>> window_name(-hour, 23 * hour, Calendar(24 * hour, "Europe/Berlin"), ZoneInfo("Europe/Berlin"))
    '1970-01-01'
    """
    if windows.ends_are_known and _starts_a_day(start, zone) and _starts_a_day(end, zone):
        first, last = _date(start, zone), _date(end - 1, zone)
        return f"{first}" if first == last else f"{first} to {last}"
    bounds = [_text(time, zone, windows.precision) for time in (start, end)]
    # A date that both bounds have is written once.
    return f"[{bounds[0]}, {bounds[1].removeprefix(bounds[0][: _DATE + 1])})"


def moment_text(milliseconds: int | None, zone: tzinfo) -> str:
    """Returns the local time to the second; in an hour that clocks repeat, with the name of the offset from UTC."""
    text = time_of(milliseconds, zone)
    return text if milliseconds is None or len(text) != _SECONDS else f"{text}{_offset_name(milliseconds, zone)}"


def clock_text(milliseconds: int, zone: tzinfo, precision: str = "seconds") -> str:
    """Returns the local time of day, to `minutes` or `seconds`."""
    if milliseconds == rules.END_OF_INPUT:
        return "end of input"
    return _text(milliseconds, zone, precision)[_DATE + 1 :]


def date_text(milliseconds: int, zone: tzinfo) -> str:
    """Returns the local date."""
    return "no day" if milliseconds == rules.END_OF_INPUT else f"{_date(milliseconds, zone)}"


def _text(milliseconds: int, zone: tzinfo, precision: str) -> str:
    local = _local(milliseconds, zone).replace(tzinfo=None)
    return f"{local.isoformat(' ', precision)}{_offset_name(milliseconds, zone)}"


def _starts_a_day(time: int, zone: tzinfo) -> bool:
    """Returns whether `time` (ms) is the first of a local day; clocks may skip midnight."""
    return _date(time, zone) != _date(time - 1, zone)


def _offset_name(time: int, zone: tzinfo) -> str:
    """Returns the name of the offset from UTC, such as " CEST", if clocks show this time of day twice; else nothing."""
    local = _local(time, zone)
    is_repeated = local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()
    return f" {local.tzname()}" if is_repeated else ""


def _local(milliseconds: int, zone: tzinfo) -> datetime:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, zone)
    except (OverflowError, ValueError):  # the zone is in the year 10000, or the end of a count window is
        return datetime.fromtimestamp(min(milliseconds, rules.LATEST_EVENT_MS) / 1000, UTC)


def _date(milliseconds: int, zone: tzinfo) -> date:
    return _local(milliseconds, zone).date()
