"""Periods of whole days that people ask for, and the periods they are compared with. Pure."""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo

from tidemark.command_line.counts import counted
from tidemark.pipeline.reading.periods.local_days import day_bounds, has_day, local_date

MOST_DAYS: Final = 1_100
"""The longest period, so that an answer is bounded."""
FORMS: Final = "today, yesterday, 7d, 28d, 90d, month, year, or dates such as 2026-11-01..2026-11-26"
_WEEK: Final = 7
_BEFORE_TODAY: Final = {"yesterday": 1, "7d": 7, "28d": 28, "90d": 90}
"""Periods that end with the day before today, and their days."""
_FIRST_YEAR, _LAST_YEAR = 1971, 9997
"""Calendars of zones reach from 1900 to 9997."""


class Incomparable(ValueError):
    """A period whose other side does not have as many days; the text says what to change."""

    def __init__(self, why: str) -> None:
        """`why` is a sentence without its end."""
        super().__init__(f"{why}: both sides of a comparison have the same number of days, so leave out compare")
        self.why = why


class Compare(StrEnum):
    """The other side of a comparison."""

    NONE = "none"
    PREVIOUS = "previous"
    """As many days directly before."""
    WEEK = "week"
    """Equal weekdays a week before; of more than seven days as many weeks before that they do not overlap."""
    YEAR = "year"
    """From the same date a year before the same number of days."""


@dataclass(frozen=True, slots=True)
class Period:
    """The local days from `first` to `last`, both inclusive; `[start, end)` in milliseconds since 1970."""

    first: date
    last: date
    zone: ZoneInfo

    @property
    def start(self) -> int:
        """The start of the first day."""
        return day_bounds(self.first, self.zone).start

    @property
    def end(self) -> int:
        """The end of the last day."""
        return day_bounds(self.last, self.zone).end

    @property
    def days(self) -> list[date]:
        """The days in order, without a day that the zone skipped."""
        dates = (self.first + timedelta(days=index) for index in range((self.last - self.first).days + 1))
        return [day for day in dates if has_day(day, self.zone)]


def checked_period(text: str) -> str:
    """Returns `text` if it names a period. Raises ValueError with the allowed forms."""
    _days(text, date(2026, 1, 1))
    return text


def period_of(text: str, zone: ZoneInfo, now: int) -> Period:
    """Returns the period that `text` names while the clock is at `now` (ms): it decides which day is today.

    Raises ValueError with the allowed forms.

    >>> noon = 1_714_564_800_000  # Wednesday 2024-05-01
    >>> [f"{p.first} {p.last}" for p in (period_of(text, ZoneInfo("UTC"), noon) for text in ("7d", "month"))]
    ['2024-04-24 2024-04-30', '2024-05-01 2024-05-01']
    """
    first, last = _days(text, local_date(now, zone))
    period = Period(first, last, zone)
    _ = period.start, period.end  # raises ValueError for days that the zone skipped
    return period


def compared_with(period: Period, compare: Compare) -> Period | None:
    """Returns the period of the same number of days on the other side of a comparison; None without one.

    Raises Incomparable if the zone skipped a day of one side.
    """
    count = (period.last - period.first).days + 1
    starts = {
        Compare.PREVIOUS: period.first - timedelta(days=count),
        Compare.WEEK: period.first - timedelta(days=-(-count // _WEEK) * _WEEK),
        Compare.YEAR: _year_before(period.first),
    }
    if compare is Compare.NONE:
        return None
    first = starts[compare]
    other = Period(first, first + timedelta(days=count - 1), period.zone)
    for side in (period, other):
        if len(side.days) < count:
            raise Incomparable(f"{side.zone.key} skipped a day between {side.first} and {side.last}")
    return other


def _year_before(day: date) -> date:
    """Returns the same date a year before; of February 29 it is February 28."""
    is_leap_day = (day.month, day.day) == (2, 29)
    return day.replace(year=day.year - 1, day=28 if is_leap_day else day.day)


def _days(text: str, today: date) -> tuple[date, date]:
    """Returns the first and the last day. Raises ValueError."""
    yesterday = today - timedelta(days=1)
    if text in _BEFORE_TODAY:
        return today - timedelta(days=_BEFORE_TODAY[text]), yesterday
    match text:
        case "today":
            return today, today
        case "month":
            return today.replace(day=1), today
        case "year":
            return today.replace(month=1, day=1), today
    return _dates(text)


def _dates(text: str) -> tuple[date, date]:
    form = re.fullmatch(r"(\d{4}-\d{2}-\d{2})\.\.(\d{4}-\d{2}-\d{2})", text)
    try:
        first, last = map(date.fromisoformat, form.groups() if form else ())
    except ValueError:
        raise ValueError(f"{text[:40]!r} is no period: write {FORMS}") from None
    if not (first.year >= _FIRST_YEAR and last.year <= _LAST_YEAR):
        raise ValueError(f"a period lies in the years {_FIRST_YEAR} to {_LAST_YEAR}: correct {text}")
    if first > last:
        raise ValueError(f"the first day of {text} is after the last: swap them")
    if (last - first).days >= MOST_DAYS:
        raise ValueError(f"{text} has {counted((last - first).days + 1, 'day')}: ask for at most {MOST_DAYS}")
    return first, last
