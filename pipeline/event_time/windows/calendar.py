"""Windows by the calendar of a time zone: local days and hours, of 23 or 25 hours where the clocks change."""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import ClassVar, Final
from zoneinfo import ZoneInfo

from pipeline.event_time.windows.periodic import Periodic

_DAY_MS: Final = 86_400_000
_PANE_MS: Final = 900_000
"""Every offset from UTC in use is a multiple of a quarter of an hour."""
_CALENDAR: Final = range(*(int(datetime(year, 1, 1, tzinfo=UTC).timestamp() * 1000) for year in (1900, 9998)))


@dataclass(frozen=True, slots=True)
class Calendar(Periodic):
    """Windows of `size_ms` by the clocks of a time zone: whole days, or a part of which a day has a whole number.

    They begin where local clocks show midnight or a multiple of the size after it, weeks on a Monday. Outside 1900 to
    9998 the clocks of UTC count. All times are milliseconds since the epoch.
    """

    size_ms: int
    zone: str

    pane_ms: ClassVar[int] = _PANE_MS
    panes_store_bounds: ClassVar[bool] = True

    def ends(self, pane_start: int) -> range:
        """The end of the one window that a pane is part of."""
        end = self.window(pane_start)[1]
        return range(end, end + 1)

    def begin(self, end: int) -> int:
        """Start of the window with this end."""
        return self.window(end - 1)[0]

    def earliest_after(self, horizon: int) -> int:
        """The earliest time whose window ends after `horizon`."""
        return self.window(horizon)[0]

    def latest_end(self, time: int) -> int:
        """End of the window that a time belongs to."""
        return self.window(time)[1]

    def reached(self, watermark: int) -> int:
        """The latest end of a window that a watermark has reached."""
        return self.window(watermark)[0]

    def window(self, time: int) -> tuple[int, int]:
        """Start and end of the window that a time belongs to."""
        if time not in _CALENDAR:
            start = time - time % self.size_ms
            return start, start + self.size_ms
        day = datetime.fromtimestamp(time / 1000, ZoneInfo(self.zone)).date()
        starts = _starts(day, self.size_ms, self.zone)
        at = bisect_right(starts, time)
        return starts[at - 1], starts[at]


@lru_cache(maxsize=1024)
def _starts(day: date, size_ms: int, zone: str) -> list[int]:
    """When windows begin from a day or more before a local day to a day or more after it."""
    days = size_ms // _DAY_MS
    if days:
        first = day - timedelta(days=(day.toordinal() - 1) % days)
        return [min(_instants(first + timedelta(days=days * number), 0, zone)) for number in (-1, 0, 1, 2)]
    near = [day + timedelta(days=number) for number in (-1, 0, 1, 2)]
    return sorted({at for one in near for part in range(0, _DAY_MS, size_ms) for at in _instants(one, part, zone)})


def _instants(day: date, part_ms: int, zone: str) -> set[int]:
    """When local clocks show a moment of a day: once or twice; where they leave it out, when they jump over it."""
    local = datetime.combine(day, time(), ZoneInfo(zone)) + timedelta(milliseconds=part_ms)
    first, second = (int(local.replace(fold=fold).timestamp() * 1000) for fold in (0, 1))
    if first <= second:
        return {first, second}
    # Python reads a moment that is left out by the clock before the jump, or else by the clock after it.
    return {next(at for at in range(first, second, -_PANE_MS) if _offset(at, zone) != _offset(at - _PANE_MS, zone))}


def _offset(at: int, zone: str) -> timedelta | None:
    return datetime.fromtimestamp(at / 1000, ZoneInfo(zone)).utcoffset()


def has_whole_parts(size_ms: int) -> bool:
    """Whether windows of a size can follow the calendar."""
    return size_ms % _DAY_MS == 0 or (_DAY_MS % size_ms == 0 and size_ms % _PANE_MS == 0)
