"""Time as people read it: wall clocks, midnights and windows, minute by minute, without the core's arithmetic."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
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
        return datetime.fromtimestamp(time // 1000, UTC).astimezone(zone or self.zone).replace(tzinfo=None)

    def midnight(self, day: date, zone: ZoneInfo | None = None) -> int:
        """The first minute that a calendar shows the day."""
        time = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000) - 15 * HOUR
        while self.wall(time, zone).date() < day:
            time += 5 * MINUTE
        return time

    def window(self, report: Report, time: int) -> Owner:
        windows = report.windows
        if isinstance(windows, Grid):
            return Owner(report, time - time % windows.size_ms, time - time % windows.size_ms + windows.size_ms)
        assert isinstance(windows, Calendar)
        zone = ZoneInfo(windows.zone)
        if windows.size_ms > HOUR:
            day = self.wall(time, zone).date()
            return Owner(report, self.midnight(day, zone), self.midnight(day + timedelta(days=1), zone))
        start, end = time - time % MINUTE, time - time % MINUTE + MINUTE
        while not self._starts_hour(start, zone):
            start -= MINUTE
        while not self._starts_hour(end, zone):
            end += MINUTE
        return Owner(report, start, end)

    def _starts_hour(self, time: int, zone: ZoneInfo) -> bool:
        """Whether clocks show a whole hour, or jump over one, where they are put forward by less than to the next."""
        now, before = self.wall(time, zone), self.wall(time - MINUTE, zone)
        return now.minute == 0 or (now - before > timedelta(minutes=1) and now.hour != before.hour)

    def prefixes(self, day: date) -> dict[int, int]:
        """Returns for each minute of the day's clock the end of the times before it, if these start the day."""
        start, end = self.midnight(day), self.midnight(day + timedelta(days=1))
        clocks = [self.wall(time).hour * 60 + self.wall(time).minute for time in range(start, end, MINUTE)]
        highest, found = -1, dict[int, int]()
        lowest_after = [24 * 60] * (len(clocks) + 1)
        for index in reversed(range(len(clocks))):
            lowest_after[index] = min(clocks[index], lowest_after[index + 1])
        for index in range(len(clocks) + 1):
            for clock in range(highest + 1, lowest_after[index] + 1):
                found.setdefault(clock, start + index * MINUTE)
            highest = max(highest, clocks[index]) if index < len(clocks) else highest
        return found
