"""Windows by the calendar of a zone, against the reference model, which looks at the clock every quarter of an hour."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transcripts.transcript import milliseconds
from tests.transcripts.windows import windows_of
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.periodic import Periodic
from tidemark.pipeline.settings.report_settings import WindowSettings

CHANGES = [
    ("Europe/Berlin", "2026-03-29T03:00:00+02:00"),
    ("Europe/Berlin", "2026-10-25T02:00:00+01:00"),
    # By half an hour.
    ("Australia/Lord_Howe", "2026-04-05T01:30:00+10:30"),
    ("Australia/Lord_Howe", "2026-10-04T02:30:00+11:00"),
    # Midnight is shown twice, or left out.
    ("America/Havana", "2026-11-01T00:00:00-05:00"),
    ("America/Sao_Paulo", "2018-11-04T01:00:00-02:00"),
    ("America/Sao_Paulo", "2019-02-16T23:00:00-03:00"),
    # A day is left out.
    ("Pacific/Apia", "2011-12-31T00:00:00+14:00"),
]
SIZES = ["15m", "30m", "45m", "1h", "2h", "3h", "6h", "12h", "1d", "2d", "7d"]
seconds_away = st.integers(-3 * 86_400, 3 * 86_400) | st.integers(-3 * 3_600, 3 * 3_600)


@pytest.mark.parametrize("size", SIZES)
@given(at=st.sampled_from(CHANGES), seconds=seconds_away)
@settings(max_examples=settings().max_examples * len(CHANGES) // 3)
def test_around_a_change_of_clocks_windows_are_those_of_the_model(size: str, at: tuple[str, str], seconds: int) -> None:
    zone, change = at
    calendar, time = Calendar(milliseconds(size), zone), _milliseconds(change) + seconds * 1000
    [end] = calendar.ends(calendar.pane_start(time))
    assert [(calendar.begin(end), end)] == windows_of(time, {"size": milliseconds(size), "zone": zone})


def test_the_changes_are_where_clocks_change() -> None:
    for zone, change in CHANGES:
        at = _milliseconds(change) / 1000
        before, after = (datetime.fromtimestamp(time, ZoneInfo(zone)).utcoffset() for time in (at - 1, at))
        assert before != after, zone


@given(st.integers(1, 52), st.integers(-(10**12), 10**13), st.sampled_from(["", "step", "slide"]))
def test_weeks_without_a_zone_are_those_of_utc(weeks: int, time: int, kind: str) -> None:
    """Both start on a Monday."""
    size = timedelta(weeks=weeks)
    given_size = {"size": size, **({kind: size} if kind else {})}
    windows = [WindowSettings.model_validate(each).windows() for each in (given_size, {"size": size, "zone": "UTC"})]
    found, expected = ([*each.ends(each.pane_start(time))] for each in windows if isinstance(each, Periodic))
    assert found == expected
    assert datetime.fromtimestamp(expected[0] / 1000, UTC).strftime("%A %H:%M") == "Monday 00:00"


@pytest.mark.parametrize(
    ("window", "offset_ms"),
    [
        ({"size": "1d"}, 0),
        ({"size": "10d"}, 0),
        ({"size": "7d", "slide": "1d"}, 0),
        ({"size": "7d", "offset": "0s"}, 0),
        ({"size": "7d"}, 4 * 86_400_000),
    ],
)
def test_only_whole_weeks_have_a_default_offset(window: dict[str, str], offset_ms: int) -> None:
    windows = WindowSettings.model_validate(window).windows()
    assert isinstance(windows, Grid)
    assert windows.offset_ms == offset_ms


def _milliseconds(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp() * 1000)


def test_every_offset_of_a_zone_since_1970_is_a_multiple_of_its_panes() -> None:
    months = [
        datetime(year, month, 2, tzinfo=UTC) for year in (*range(1970, 1981), 2000, 2026) for month in (1, 4, 7, 10)
    ]
    for name in sorted(available_timezones()):
        offsets = {month.astimezone(ZoneInfo(name)).utcoffset() or timedelta(0) for month in months}
        pane = timedelta(milliseconds=Calendar(86_400_000, name).pane_ms)
        assert not [offset for offset in offsets if offset % pane], name


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Africa/Monrovia"])
def test_an_event_is_in_the_pane_of_its_own_day(zone: str) -> None:
    calendar, at = Calendar(86_400_000, zone), _milliseconds("1971-06-01T00:44:15Z")
    for time in range(at, at + 86_400_000, 300_000):
        assert calendar.window(calendar.pane_start(time)) == calendar.window(time)
