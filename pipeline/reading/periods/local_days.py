"""Days of a time zone, and times of day on them. Pure; all instants are milliseconds since 1970."""

from datetime import date, datetime, time
from zoneinfo import ZoneInfo

from tidemark.pipeline.event_time.windows.base import Window
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.periodic import DAY_MS
from tidemark.pipeline.instants import moment, ms_of


def local_date(instant: int, zone: ZoneInfo) -> date:
    """Returns the date that calendars of the zone show."""
    return moment(instant).astimezone(zone).date()


def day_bounds(day: date, zone: ZoneInfo) -> Window:
    """Returns the bounds of a local day, which has 23 or 25 hours when the clocks change.

    Raises ValueError for a day that the zone skipped, as Samoa did with 2011-12-30.
    """
    bounds = Calendar(DAY_MS, zone.key).window(ms_of(datetime.combine(day, time(12), zone)))
    if local_date(bounds.start, zone) != day:
        raise ValueError(f"{zone.key} had no {day}: its clocks skipped it")
    return bounds


def has_day(day: date, zone: ZoneInfo) -> bool:
    """Returns whether the zone did not skip a day."""
    return local_date(ms_of(datetime.combine(day, time(12), zone)), zone) == day


def prefix_end(day: date, clock: time, zone: ZoneInfo) -> int | None:
    """Returns the instant before which exactly the times of `day` lie that are earlier than `clock`.

    None if there is no such instant, because clocks are put back and some of the earlier times come after it.

    >>> berlin, hour = ZoneInfo("Europe/Berlin"), 3_600_000
    >>> start = day_bounds(date(2024, 10, 27), berlin).start  # 02:00 to 03:00 comes twice
    >>> [end and (end - start) // hour for end in (prefix_end(date(2024, 10, 27), time(t), berlin) for t in (2, 3))]
    [2, 4]
    >>> prefix_end(date(2024, 10, 27), time(2, 30), berlin)
    >>> start = day_bounds(date(2024, 3, 31), berlin).start  # 02:00 to 03:00 is skipped
    >>> [(prefix_end(date(2024, 3, 31), time(2, minute), berlin) - start) // hour for minute in (0, 30)]
    [2, 2]
    """
    bounds = day_bounds(day, zone)
    if clock == time():
        return bounds.start
    local = datetime.combine(day, clock, zone)
    first, second = (ms_of(local.replace(fold=fold)) for fold in (0, 1))
    if first > second:  # skipped: the jump lies between, and no time of day comes twice
        return _jump(second, first, local.replace(tzinfo=None), zone)
    if first < second and _clock(second - 1, zone) < clock:
        return None
    return first if bounds.start <= first else None


def _clock(instant: int, zone: ZoneInfo) -> time:
    return moment(instant).astimezone(zone).time()


def _jump(low: int, high: int, local: datetime, zone: ZoneInfo) -> int:
    """Returns the first instant after `low` at which calendars show a time after `local`; `high` is such an instant.

    With its date, because clocks that jump at midnight show late times of the day before.
    """
    while high - low > 1:
        middle = (low + high) // 2
        is_after = moment(middle).astimezone(zone).replace(tzinfo=None) >= local
        low, high = (low, middle) if is_after else (middle, high)
    return high
