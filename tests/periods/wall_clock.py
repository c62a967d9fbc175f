"""Time as people read it: wall clocks, midnights and windows, minute by minute, without the core's arithmetic."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from tests.periods.raw_case import HOUR, MINUTE
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.grid import Grid


@dataclass(frozen=True)
class Owner:
    """The window to which a minute belongs."""

    report: Report
    start: int
    end: int


class WallClock:
    """The clocks of a zone."""

    def __init__(self, zone: str) -> None:
        self.zone = ZoneInfo(zone)

    def wall(self, time: int, zone: ZoneInfo | None = None) -> datetime:
        return _wall(time, zone or self.zone)

    def midnight(self, day: date, zone: ZoneInfo | None = None) -> int:
        """The first minute that a calendar shows the day."""
        return _midnight(day, zone or self.zone)

    def window(self, report: Report, time: int) -> Owner:
        windows = report.windows
        if isinstance(windows, Grid):
            return Owner(report, time - time % windows.size_ms, time - time % windows.size_ms + windows.size_ms)
        assert isinstance(windows, Calendar)
        zone = ZoneInfo(windows.zone)
        if windows.size_ms > HOUR:
            day = self.wall(time, zone).date()
            return Owner(report, self.midnight(day, zone), self.midnight(day + timedelta(days=1), zone))
        return Owner(report, *_hour(time - time % MINUTE, zone))

    def prefixes(self, day: date) -> dict[int, int]:
        """Returns for each minute of the day's clock the end of the times before it, if these start the day."""
        return _prefixes(day, self.zone)


def _wall(time: int, zone: ZoneInfo) -> datetime:
    return datetime.fromtimestamp(time // 1000, UTC).astimezone(zone).replace(tzinfo=None)


@cache
def _midnight(day: date, zone: ZoneInfo) -> int:
    time = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000) - 15 * HOUR
    while _wall(time, zone).date() < day:
        time += 5 * MINUTE
    return time


@cache
def _hour(minute: int, zone: ZoneInfo) -> tuple[int, int]:
    """Returns the start and the end of the hour that contains a minute."""
    start, end = minute, minute + MINUTE
    while not _starts_hour(start, zone):
        start -= MINUTE
    while not _starts_hour(end, zone):
        end += MINUTE
    return start, end


def _starts_hour(time: int, zone: ZoneInfo) -> bool:
    """Returns whether clocks show a whole hour, or jump over one that they do not show."""
    now, before = _wall(time, zone), _wall(time - MINUTE, zone)
    return now.minute == 0 or (now - before > timedelta(minutes=1) and now.hour != before.hour)


@cache
def _prefixes(day: date, zone: ZoneInfo) -> dict[int, int]:
    start, end = _midnight(day, zone), _midnight(day + timedelta(days=1), zone)
    walls = [_wall(time, zone) for time in range(start, end, MINUTE)]
    clocks = [wall.hour * 60 + wall.minute for wall in walls]
    highest, found = -1, dict[int, int]()
    lowest_after = [24 * 60] * (len(clocks) + 1)
    for index in reversed(range(len(clocks))):
        lowest_after[index] = min(clocks[index], lowest_after[index + 1])
    for index in range(len(clocks) + 1):
        for clock in range(highest + 1, lowest_after[index] + 1):
            found.setdefault(clock, start + index * MINUTE)
        highest = max(highest, clocks[index]) if index < len(clocks) else highest
    return found
