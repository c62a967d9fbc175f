"""Periods by name and by dates, their comparisons, and days of 23 and 25 hours."""

from datetime import date, time
from zoneinfo import ZoneInfo

import pytest

from tidemark.pipeline.reading.periods.local_days import day_bounds, prefix_end
from tidemark.pipeline.reading.periods.period import Compare, Period, compared_with, period_of

BERLIN, APIA = ZoneInfo("Europe/Berlin"), ZoneInfo("Pacific/Apia")
HOUR = 3_600_000
NOW = 1_711_926_000_000
"""2024-04-01T01:00 in Berlin, and still March in UTC."""


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("today", "2024-04-01", "2024-04-01"),
        ("yesterday", "2024-03-31", "2024-03-31"),
        ("7d", "2024-03-25", "2024-03-31"),
        ("28d", "2024-03-04", "2024-03-31"),
        ("90d", "2024-01-02", "2024-03-31"),
        ("month", "2024-04-01", "2024-04-01"),
        ("year", "2024-01-01", "2024-04-01"),
        ("2023-12-30..2024-01-02", "2023-12-30", "2024-01-02"),
    ],
)
def test_a_period_is_named_by_the_calendar_of_its_zone(text: str, first: str, last: str) -> None:
    period = period_of(text, BERLIN, NOW)
    assert (f"{period.first}", f"{period.last}") == (first, last)


def test_the_zone_decides_which_day_is_today() -> None:
    assert period_of("today", ZoneInfo("UTC"), NOW).first == date(2024, 3, 31)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "'' is no period: write today, yesterday, 7d, 28d, 90d, month, year, or dates"),
        ("8d", "'8d' is no period"),
        ("2024-02-30..2024-03-01", "is no period"),
        ("2024-03-01", "is no period"),
        ("2024-03-02..2024-03-01", "the first day of 2024-03-02..2024-03-01 is after the last: swap them"),
        ("2000-01-01..2024-01-01", "has 8,767 days: ask for at most 1100"),
        ("1970-01-01..1970-01-02", "a period lies in the years 1971 to 9997"),
        ("9998-01-01..9998-01-02", "a period lies in the years 1971 to 9997"),
    ],
)
def test_a_period_that_cannot_be_is_refused_in_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        period_of(text, BERLIN, NOW)


def test_a_day_that_a_zone_skipped_is_refused() -> None:
    with pytest.raises(ValueError, match="Pacific/Apia had no 2011-12-30: its clocks skipped it"):
        period_of("2011-12-30..2011-12-30", APIA, NOW)


def test_a_period_around_a_skipped_day_has_the_other_days() -> None:
    period = period_of("2011-12-29..2012-01-01", APIA, NOW)
    assert [day.day for day in period.days] == [29, 31, 1]


@pytest.mark.parametrize("text", ["2011-12-29..2012-01-01", "2011-12-31..2011-12-31", "2012-01-01..2012-01-03"])
def test_a_side_with_a_skipped_day_is_not_compared(text: str) -> None:
    with pytest.raises(ValueError, match="Pacific/Apia skipped a day between"):
        compared_with(period_of(text, APIA, NOW), Compare.PREVIOUS)


@pytest.mark.parametrize(("day", "hours"), [(date(2024, 3, 31), 23), (date(2024, 10, 27), 25), (date(2024, 5, 1), 24)])
def test_a_day_has_the_hours_of_its_zone(day: date, hours: int) -> None:
    bounds = day_bounds(day, BERLIN)
    assert (bounds.end - bounds.start) // HOUR == hours


@pytest.mark.parametrize(
    ("first", "last", "compare", "other"),
    [
        (date(2024, 3, 31), date(2024, 3, 31), Compare.PREVIOUS, "2024-03-30 2024-03-30"),
        (date(2024, 3, 25), date(2024, 3, 31), Compare.PREVIOUS, "2024-03-18 2024-03-24"),
        (date(2024, 3, 31), date(2024, 3, 31), Compare.WEEK, "2024-03-24 2024-03-24"),
        (date(2024, 3, 4), date(2024, 3, 31), Compare.WEEK, "2024-02-05 2024-03-03"),
        (date(2024, 3, 1), date(2024, 3, 10), Compare.WEEK, "2024-02-16 2024-02-25"),
        (date(2024, 2, 29), date(2024, 3, 1), Compare.YEAR, "2023-02-28 2023-03-01"),
        (date(2024, 1, 1), date(2024, 4, 1), Compare.YEAR, "2023-01-01 2023-04-02"),
    ],
)
def test_the_other_side_has_as_many_days(first: date, last: date, compare: Compare, other: str) -> None:
    period = compared_with(Period(first, last, BERLIN), compare)
    assert period is not None
    assert f"{period.first} {period.last}" == other


def test_without_a_comparison_there_is_no_other_side() -> None:
    assert compared_with(Period(date(2024, 1, 1), date(2024, 1, 1), BERLIN), Compare.NONE) is None


def test_local_times_before_a_time_of_day_end_at_one_instant_or_have_no_end() -> None:
    """In Havana clocks are put back at 01:00, to midnight: 00:30 comes twice on the same day."""
    havana, day = ZoneInfo("America/Havana"), date(2024, 11, 3)
    start = day_bounds(day, havana).start
    assert prefix_end(day, time(), havana) == start
    assert prefix_end(day, time(0, 30), havana) is None
    assert prefix_end(day, time(1), havana) == start + 2 * HOUR


def test_a_time_that_a_jump_at_midnight_skips_is_the_start_of_the_day() -> None:
    """In Havana clocks jump from midnight to 01:00: before 00:06 there is no time of the day."""
    havana, day = ZoneInfo("America/Havana"), date(2024, 3, 10)
    assert prefix_end(day, time(0, 6), havana) == day_bounds(day, havana).start
