"""A day in a time zone. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from tidemark.pipeline.event_time.windows.base import Windows
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.instants import ms_of

TODAY: Final = "today"
YESTERDAY: Final = "yesterday"
_DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class Day:
    """The day `[start, end)`, of 23 or 25 hours when the clocks change; milliseconds."""

    date: date
    zone: ZoneInfo
    start: int
    end: int

    @property
    def span(self) -> tuple[int, int]:
        """Windows of the day end after the first time and not after the second."""
        return self.start, self.end


def checked_day(text: str) -> str:
    """Returns `text` if it names a day. Raises ValueError with the allowed forms."""
    if text not in (TODAY, YESTERDAY):
        try:
            date.fromisoformat(text)
        except ValueError:
            raise ValueError(f"{text!r} is not a day: write today, yesterday, or a date such as 2026-11-22") from None
    return text


def day_of(text: str, zone: ZoneInfo, now: int) -> Day:
    """Returns the day that `text` names at the time `now`, in ms."""
    today = datetime.fromtimestamp(now / 1000, zone).date()
    days = {TODAY: today, YESTERDAY: today - timedelta(days=1)}
    day = days.get(text) or date.fromisoformat(text)
    noon = ms_of(datetime.combine(day, time(12), zone))
    return Day(day, zone, *Calendar(_DAY_MS, zone.key).window(noon))


def disjoint_ends(windows: Windows, day: Day) -> Iterator[int]:
    """Yields the ends of windows that cover the day without overlap, the last first. The ends are known."""
    end = windows.reached(day.end)
    while end > day.start:
        yield end
        start = windows.earliest_after(end - 1)
        end = windows.reached(start)
