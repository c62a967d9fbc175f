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
SPRING, AUTUMN = (int(datetime(2024, month, day, tzinfo=UTC).timestamp() * 1000) for month, day in ((3, 29), (10, 25)))
ZONES = ["Europe/Berlin", "America/New_York", "America/Havana", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"]
SIZES = [HOUR // 4, HOUR, 6 * HOUR, 24 * HOUR, 7 * 24 * HOUR]


@pytest.mark.parametrize("zone", ZONES)
def test_windows_of_a_calendar_follow_it_and_others_do_not(zone: str) -> None:
    for size, begin in product(SIZES, (SPRING, AUTUMN)):
        calendar = Calendar(size, zone)
        for at in range(begin, begin + 5 * 24 * HOUR, max(size // 3, HOUR // 4)):
            start, end = calendar.window(at)
            assert follows(calendar, start, end)
            assert not follows(calendar, start, end - HOUR // 4)
            assert not follows(calendar, start - HOUR // 4, end)
            assert not follows(calendar, start, calendar.window(end)[1])


@pytest.mark.parametrize("zone", ZONES)
def test_the_end_of_a_window_is_where_clocks_show_the_next_one(zone: str) -> None:
    for size, begin in product(SIZES, (SPRING, AUTUMN)):
        calendar = Calendar(size, zone)
        times = range(begin, begin + 5 * 24 * HOUR, HOUR // 4)
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
