"""A day by the clocks of a time zone. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from pipeline.event_time.windows.calendar import Calendar
from pipeline.event_time.windows.periodic import Periodic
from pipeline.instants import ms_of

TODAY: Final = "today"
YESTERDAY: Final = "yesterday"
_DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class Day:
    """The day `[start, end)`, of 23 or 25 hours where the clocks change; milliseconds."""

    date: date
    zone: ZoneInfo
    start: int
    end: int

    @property
    def span(self) -> tuple[int, int]:
        """A window is one of the day's if it ends after the first and not after the second time."""
        return self.start, self.end


def checked_day(text: str) -> str:
    """A day as it is told, if that is one. Raises ValueError with how to write it."""
    if text not in (TODAY, YESTERDAY):
        try:
            date.fromisoformat(text)
        except ValueError:
            raise ValueError(f"{text!r} is no day: write today, yesterday, or a date such as 2026-11-22") from None
    return text


def day_of(told: str, zone: ZoneInfo, now: int) -> Day:
    """The day that is meant at a time in milliseconds."""
    today = datetime.fromtimestamp(now / 1000, zone).date()
    days = {TODAY: today, YESTERDAY: today - timedelta(days=1)}
    found = days.get(told) or date.fromisoformat(told)
    noon = ms_of(datetime.combine(found, time(12), zone))
    return Day(found, zone, *Calendar(_DAY_MS, zone.key).window(noon))


def disjoint_ends(windows: Periodic, day: Day) -> Iterator[int]:
    """Ends of windows of the day that do not overlap, the last one first."""
    end = windows.reached(day.end)
    while end > day.start:
        yield end
        end = windows.reached(windows.begin(end))
