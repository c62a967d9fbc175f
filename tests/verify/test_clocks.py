"""Whether a window follows the calendar is told by its own rule, and agrees with the windows that reports have."""

from datetime import UTC, datetime

import pytest

from pipeline.commands.verify.clocks import follows
from pipeline.event_time.windows.calendar import Calendar

HOUR = 3_600_000
SPRING, AUTUMN = (int(datetime(2024, month, day, tzinfo=UTC).timestamp() * 1000) for month, day in ((3, 29), (10, 25)))
ZONES = ["Europe/Berlin", "America/New_York", "America/Havana", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"]
SIZES = [HOUR // 4, HOUR, 6 * HOUR, 24 * HOUR, 7 * 24 * HOUR]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("size", SIZES)
def test_windows_of_a_calendar_follow_it_and_others_do_not(zone: str, size: int) -> None:
    calendar = Calendar(size, zone)
    for begin in (SPRING, AUTUMN):
        for at in range(begin, begin + 5 * 24 * HOUR, max(size // 3, HOUR // 4)):
            start, end = calendar.window(at)
            assert follows(calendar, start, end)
            assert not follows(calendar, start, end - HOUR // 4)
            assert not follows(calendar, start - HOUR // 4, end)
            assert not follows(calendar, start, calendar.window(end)[1])
