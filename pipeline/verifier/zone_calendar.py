"""Windows by the calendar of a time zone, from the times that its clocks show every quarter of an hour.

Written from the definition, without the code that makes windows, so that a wrong rule there is found.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from tidemark.pipeline.event_time.windows.calendar import Calendar

_STEP_MS: Final = 900_000
"""Today the clocks of every zone differ from UTC by a multiple of this."""
_DAY_MS: Final = 86_400_000
_JUMP_MS: Final = 3 * 3_600_000
"""The longest jump of a clock that did not cross the date line."""
_LONGEST_JUMP_MS: Final = _DAY_MS + _JUMP_MS
"""A clock that crosses the date line skips a day."""
_MONDAY: Final = datetime(1, 1, 1)  # noqa: DTZ001 - a local time has no zone
_FROM, _TO = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp() * 1000) for year in (1901, 9997))
_BY_CLOCKS: Final = range(*(int(datetime(year, 1, 1, tzinfo=UTC).timestamp() * 1000) for year in (1900, 9998)))
"""Times with windows by the zone's clocks; all others have windows in UTC."""


def follows(calendar: Calendar, start: int, end: int) -> bool:
    """Returns whether `[start, end)`, in milliseconds, lies between two bounds that follow each other."""
    if end <= start:
        return False
    if not _FROM <= start < end <= _TO:
        return True
    steps = range(start + _STEP_MS, end, _STEP_MS)
    near = [at for at in steps if at - start <= _STEP_MS or end - at <= _STEP_MS or _is_near_bound(at, end, calendar)]
    return (
        (end - start) % _STEP_MS == 0
        and end - start <= calendar.size_ms + _JUMP_MS
        and _is_bound(calendar, start)
        and _is_bound(calendar, end)
        and not any(_is_bound(calendar, at) for at in near)
    )


def ends_of(calendar: Calendar, times: Iterable[int]) -> dict[int, int]:
    """Returns the end of the window of each time, which is a whole quarter of an hour; all in milliseconds."""
    ends, end = dict[int, int](), 0
    for time in sorted(times):
        if time >= end:
            end = _end_after(calendar, time)
        ends[time] = end
    return ends


def _end_after(calendar: Calendar, time: int) -> int:
    """Returns the first bound after a time, in milliseconds."""
    if time not in _BY_CLOCKS:
        return time - time % calendar.size_ms + calendar.size_ms
    # Clocks may skip this much before they show the next multiple of the size.
    left = calendar.size_ms - _local(calendar.zone, time) % calendar.size_ms
    at = time + max(_STEP_MS, left - _LONGEST_JUMP_MS)
    while not _is_bound(calendar, at):
        at += _STEP_MS
    return at


def _is_bound(calendar: Calendar, at: int) -> bool:
    return (_is_new_day if calendar.size_ms >= _DAY_MS else _is_new_slice)(calendar, at)


def _is_near_bound(at: int, end: int, calendar: Calendar) -> bool:
    """Returns whether a step of a long window is near a possible bound; all others are skipped."""
    return calendar.size_ms < _DAY_MS or (at - end) % _DAY_MS in (0, _DAY_MS - _STEP_MS)


def _is_new_slice(calendar: Calendar, at: int) -> bool:
    """Returns whether local clocks show a multiple of the window's size, or have just jumped over one."""
    now, before = _local(calendar.zone, at), _local(calendar.zone, at - _STEP_MS)
    return now % calendar.size_ms == 0 or now // calendar.size_ms > before // calendar.size_ms


def _is_new_day(calendar: Calendar, at: int) -> bool:
    """Returns whether the local date at `at` is the first of a new window."""
    now = _local(calendar.zone, at) // calendar.size_ms
    earlier = range(at - _JUMP_MS, at, _STEP_MS)
    return all(_local(calendar.zone, step) // calendar.size_ms < now for step in earlier)


@lru_cache(maxsize=65536)
def _local(zone: str, at: int) -> int:
    """Returns the local time of `at`, in milliseconds since the first Monday of the calendar."""
    local = datetime.fromtimestamp(at / 1000, ZoneInfo(zone)).replace(tzinfo=None)
    return (local - _MONDAY) // timedelta(milliseconds=1)
