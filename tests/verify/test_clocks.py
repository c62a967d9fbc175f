"""The verifier's rule of calendar windows agrees with the windows of reports."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest

from tests.verify.plant import OF_RESULTS, sentences
from tests.verify.site import MINUTE, POLICY, Event, Site
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.verifier.zone_calendar import ends_of, follows

HOUR = 3_600_000
CHANGES = {
    "Europe/Berlin": ["2024-03-31", "2024-10-27"],
    "America/New_York": ["2024-03-10", "2024-11-03"],
    "America/Havana": ["2024-03-10", "2024-11-03"],
    "Australia/Lord_Howe": ["2024-04-06", "2024-10-05"],
    "Asia/Kathmandu": ["2024-03-31"],
    "UTC": ["2024-03-31"],
}
"""By zone: UTC days on which its clocks change, or any day if they never do."""
SIZES = [HOUR // 4, HOUR, 6 * HOUR, 24 * HOUR, 7 * 24 * HOUR]


def times_around(day: str, step: int) -> range:
    """Returns times of a day and of the six hours before and after it, `step` milliseconds apart."""
    start = int(datetime.fromisoformat(f"{day}T00:00Z").timestamp() * 1000)
    return range(start - 6 * HOUR, start + 30 * HOUR, step)


@pytest.mark.parametrize("zone", CHANGES)
def test_windows_of_a_calendar_follow_it_and_others_do_not(zone: str) -> None:
    for size, day in product(SIZES, CHANGES[zone]):
        calendar = Calendar(size, zone)
        for at in times_around(day, max(size // 3, HOUR // 2)):
            start, end = calendar.window(at)
            assert follows(calendar, start, end)
            assert not follows(calendar, start, end - HOUR // 4)
            assert not follows(calendar, start - HOUR // 4, end)
            assert not follows(calendar, start, calendar.window(end)[1])


@pytest.mark.parametrize("zone", CHANGES)
def test_the_end_of_a_window_is_where_clocks_show_the_next_one(zone: str) -> None:
    for size, day in product(SIZES, CHANGES[zone]):
        calendar, times = Calendar(size, zone), times_around(day, HOUR // 4)
        assert ends_of(calendar, times) == {time: calendar.window(time)[1] for time in times}


def test_a_day_that_a_zone_left_out_has_no_window() -> None:
    calendar = Calendar(48 * HOUR, "Pacific/Apia")
    before = int(datetime(2011, 12, 29, 20, tzinfo=UTC).timestamp() * 1000)
    assert ends_of(calendar, [before]) == {before: calendar.window(before)[1]}


#   Berlin's day ends at 22:00 UTC in summer, 600 minutes after noon. A rule without summer time ends it at 660:
#   |--1---------------------------600-------650--660--670------------------------------2200 minutes
#                        right end -^     late -^  ^- wrong end: the event at 650 would have missed its window
@pytest.mark.slow
@pytest.mark.parametrize("is_wrong", [False, True])
def test_a_wrong_rule_of_summer_time_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_wrong: bool
) -> None:
    if is_wrong:
        monkeypatch.setattr(Calendar, "window", _without_summer_time)
    patient = Report("patient", Grid(10 * MINUTE, 10 * MINUTE), 24 * HOUR, keys=())
    days = Report("days", Calendar(24 * HOUR, "Europe/Berlin"), 0, keys=())
    site = Site(tmp_path, replace(POLICY, reports=(patient, days), totals=None)).open()
    site.batch(Event(1), Event(659)).batch(Event(670)).batch(Event(650)).batch(Event(2200))
    reported = sentences(tmp_path, OF_RESULTS)
    assert ("is no window of 86400000 ms by the calendar of Europe/Berlin" in reported) is is_wrong
    assert ("days: found 4 events" in reported) is is_wrong
    assert bool(reported) is is_wrong


def _without_summer_time(calendar: Calendar, time: int) -> tuple[int, int]:
    start = time - (time + HOUR) % calendar.size_ms
    return start, start + calendar.size_ms
