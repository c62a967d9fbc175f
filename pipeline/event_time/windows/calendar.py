"""Windows by the calendar of a time zone: local days and parts. Days with a clock change have 23 or 25 hours."""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import ClassVar, Final
from zoneinfo import ZoneInfo

from tidemark.command_line.counts import span_of
from tidemark.pipeline.event_time.windows.base import Window
from tidemark.pipeline.event_time.windows.periodic import DAY_MS, Periodic

_PANE_MS: Final = 900_000
"""Offsets from UTC are multiples of a quarter of an hour since 1970, but for two zones."""
_FINER_MS: Final = {"Africa/Monrovia": 30_000, "Pacific/Kiritimati": 300_000}
"""Until 1972 and 1979."""
_CALENDAR: Final = range(*(int(datetime(year, 1, 1, tzinfo=UTC).timestamp() * 1000) for year in (1900, 9998)))


@dataclass(frozen=True, slots=True)
class Calendar(Periodic):
    """Windows of `size_ms` by the clocks of a time zone: whole days, or a whole fraction of a day.

    They start when local clocks show midnight or a multiple of the size after it, weeks on a Monday. Outside 1900 to
    9998 UTC is used. All times are milliseconds since 1970.
    """

    size_ms: int
    zone: str

    kind: ClassVar[str] = "calendar"
    panes_store_bounds: ClassVar[bool] = True
    overlap: ClassVar[int] = 1

    @property
    def pane_ms(self) -> int:
        """Every offset of the zone since 1970 is a multiple of it."""
        return _pane_ms(self.zone)

    @property
    def time_zone(self) -> tzinfo:
        """The time zone."""
        return ZoneInfo(self.zone)

    def describe(self) -> str:
        """Returns such as "days in the time zone Europe/Berlin"."""
        name = {DAY_MS: "days", 7 * DAY_MS: "weeks"}.get(self.size_ms, f"windows of {span_of(self.size_ms)}")
        return f"{name} in the time zone {self.zone}"

    def ends(self, pane_start: int) -> range:
        """Returns the end of the window that contains the pane."""
        end = self.window(pane_start)[1]
        return range(end, end + 1)

    def begin(self, end: int) -> int:
        """Returns the start of the window that ends at `end`."""
        return self.window(end - 1)[0]

    def earliest_after(self, horizon: int) -> int:
        """Returns the earliest time whose window ends after `horizon`."""
        return self.window(horizon)[0]

    def latest_end(self, time: int) -> int:
        """Returns the end of the window that contains `time`."""
        return self.window(time)[1]

    def reached(self, watermark: int) -> int:
        """Returns the latest end of a window at or before `watermark`."""
        return self.window(watermark)[0]

    def window(self, time: int) -> Window:
        """Returns the window that contains `time`.

        >>> spring = Calendar(86_400_000, "Europe/Berlin").window(1_711_843_200_000)  # 2024-03-31T00:00Z
        >>> spring, (spring.end - spring.start) / 3_600_000  # clocks skip from 02:00 to 03:00
        (Window(start=1711839600000, end=1711922400000), 23.0)
        """
        if time not in _CALENDAR:
            start = time - time % self.size_ms
            return Window(start, start + self.size_ms)
        day = datetime.fromtimestamp(time / 1000, ZoneInfo(self.zone)).date()
        starts = _starts(day, self.size_ms, self.zone)
        index = bisect_right(starts, time)
        return Window(starts[index - 1], starts[index])


@lru_cache(maxsize=1024)
def _starts(day: date, size_ms: int, zone: str) -> list[int]:
    """Returns the starts of windows from at least a day before a local day to at least a day after it."""
    days = size_ms // DAY_MS
    if days:
        first = day - timedelta(days=(day.toordinal() - 1) % days)
        return [min(_instants(first + timedelta(days=days * shift), 0, zone)) for shift in (-1, 0, 1, 2)]
    near = [day + timedelta(days=shift) for shift in (-1, 0, 1, 2)]
    return sorted(
        {at for date_ in near for time_ms in range(0, DAY_MS, size_ms) for at in _instants(date_, time_ms, zone)}
    )


def _instants(day: date, time_ms: int, zone: str) -> set[int]:
    """Returns the instants at which local clocks show a time of `day`, `time_ms` after midnight.

    There are two if the time is repeated. If it is skipped, the instant of the jump is returned.

    >>> hour = 3_600_000
    >>> sorted(_instants(date(2024, 10, 27), 2 * hour, "Europe/Berlin"))  # 02:00 comes twice, at 00:00Z and 01:00Z
    [1729987200000, 1729990800000]
    >>> _instants(date(2024, 3, 31), 2 * hour, "Europe/Berlin")  # 02:00 is skipped, at 01:00Z
    {1711846800000}
    """
    local = datetime.combine(day, time(), ZoneInfo(zone)) + timedelta(milliseconds=time_ms)
    first, second = (int(local.replace(fold=fold).timestamp() * 1000) for fold in (0, 1))
    if first <= second:
        return {first, second}
    # For a skipped time Python uses the offset before the jump with fold=0, and that after it with fold=1.
    step = _pane_ms(zone)
    return {next(at for at in range(first, second, -step) if _offset(at, zone) != _offset(at - step, zone))}


def _pane_ms(zone: str) -> int:
    return _FINER_MS.get(zone, _PANE_MS)


def _offset(at: int, zone: str) -> timedelta | None:
    return datetime.fromtimestamp(at / 1000, ZoneInfo(zone)).utcoffset()


def has_whole_parts(size_ms: int) -> bool:
    """Returns whether windows of `size_ms` can follow the calendar."""
    return size_ms % DAY_MS == 0 or (DAY_MS % size_ms == 0 and size_ms % _PANE_MS == 0)
