"""Names of windows, axes and values on pages: by the size of the windows and the zone of the report."""

from datetime import UTC, date, datetime, time, tzinfo
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemark.command_line.counts import counted, span_of
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.field_measures import FieldMeasure, Function
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.base import Windows
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.count import Counts, SlidingCounts
from tidemark.pipeline.event_time.windows.cumulate import Cumulate
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.reading.periods.period import period_of
from tidemark.pipeline.reading.window_names import clock_text, date_text, moment_text, window_name, zone_of_report
from tidemark.pipeline.web.dashboard.reader_times import Times
from tidemark.pipeline.web.pages.page_text import sentence_case, share, templates
from tidemark.pipeline.web.pages.time_axis import Axis
from tidemark.pipeline.web.pages.top_lists import page_zone

SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
BERLIN = ZoneInfo("Europe/Berlin")
DAYS, HOURS = Calendar(DAY, "Europe/Berlin"), Calendar(HOUR, "Europe/Berlin")
TEN_MINUTES, TEN_SECONDS = Grid(10 * MINUTE, 10 * MINUTE), Grid(10 * SECOND, 10 * SECOND)


def at(text: str) -> int:
    """Milliseconds of a time in UTC."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("start", "end", "windows", "zone", "name"),
    [
        ("2026-11-24T23:00", "2026-11-25T23:00", DAYS, BERLIN, "2026-11-25"),
        ("2026-03-28T23:00", "2026-03-29T22:00", DAYS, BERLIN, "2026-03-29"),  # 23 hours
        ("2026-10-24T22:00", "2026-10-25T23:00", DAYS, BERLIN, "2026-10-25"),  # 25 hours
        ("2026-03-28T22:00", "2026-03-29T21:00", DAYS, ZoneInfo("Asia/Beirut"), "2026-03-29"),  # 00:00 is skipped
        ("2026-11-22T23:00", "2026-11-29T23:00", DAYS, BERLIN, "2026-11-23 to 2026-11-29"),
        ("2026-11-25T00:00", "2026-11-26T00:00", Grid(DAY, DAY), UTC, "2026-11-25"),
        ("2026-11-25T00:00", "2026-11-26T00:00", Grid(DAY, DAY), BERLIN, "[2026-11-25 01:00, 2026-11-26 01:00)"),
        ("2026-11-25T10:00", "2026-11-25T10:10", TEN_MINUTES, UTC, "[2026-11-25 10:00, 10:10)"),
        ("2026-11-25T23:50", "2026-11-26T00:00", TEN_MINUTES, UTC, "[2026-11-25 23:50, 2026-11-26 00:00)"),
        ("2026-11-25T10:00", "2026-11-25T10:00:10", TEN_SECONDS, UTC, "[2026-11-25 10:00:00, 10:00:10)"),
        ("2026-11-25T10:00", "2026-11-25T10:00:01", Grid(250, 250), UTC, "[2026-11-25 10:00:00.000, 10:00:01.000)"),
        ("2026-11-25T22:58", "2026-11-25T23:02", Sessions(1), BERLIN, "[2026-11-25 23:58:00, 2026-11-26 00:02:00)"),
        ("2026-11-25T00:00", "2026-11-26T00:00", Sessions(1), UTC, "[2026-11-25 00:00:00, 2026-11-26 00:00:00)"),
        # The hour that is repeated names its offset.
        ("2026-10-25T00:00", "2026-10-25T01:00", HOURS, BERLIN, "[2026-10-25 02:00 CEST, 02:00 CET)"),
        ("2026-10-25T01:00", "2026-10-25T02:00", HOURS, BERLIN, "[2026-10-25 02:00 CET, 03:00)"),
        ("2026-03-29T00:00", "2026-03-29T01:00", HOURS, BERLIN, "[2026-03-29 01:00, 03:00)"),
    ],
)
def test_a_window_is_named_by_its_size_and_zone(
    start: str, end: str, windows: Windows, zone: tzinfo, name: str
) -> None:
    assert window_name(at(start), at(end), windows, zone) == name


@given(st.dates(date(2020, 1, 1), date(2030, 1, 1)), st.sampled_from(["Europe/Berlin", "Asia/Beirut"]))
def test_each_day_of_a_zone_has_its_date_as_its_name(day: date, zone: str) -> None:
    noon = datetime.combine(day, time(12), ZoneInfo(zone))
    window = Calendar(DAY, zone).window(round(noon.timestamp() * 1000))
    assert window_name(*window, Calendar(DAY, zone), ZoneInfo(zone)) == str(day)


@pytest.mark.parametrize("size_ms", [15 * MINUTE, HOUR, 6 * HOUR])
def test_no_two_windows_have_the_same_name_when_clocks_change(size_ms: int) -> None:
    windows, names = Calendar(size_ms, "Europe/Berlin"), []
    for change in ("2026-03-28T12:00", "2026-10-24T12:00"):
        start = windows.window(at(change)).start
        while start < at(change) + 2 * DAY:
            window = windows.window(start)
            names.append(window_name(*window, windows, BERLIN))
            start = window.end
    assert len(names) == len({*names})


def test_times_in_the_repeated_hour_name_their_offset() -> None:
    assert moment_text(at("2026-10-25T00:30"), BERLIN) == "2026-10-25 02:30:00 CEST"
    assert moment_text(at("2026-10-25T01:30"), BERLIN) == "2026-10-25 02:30:00 CET"
    assert moment_text(at("2026-10-25T02:30"), BERLIN) == "2026-10-25 03:30:00"
    assert moment_text(None, BERLIN) == "none yet"
    assert moment_text(2**63 - 1, BERLIN) == "9223372036854775807 ms, which is no time"


def test_the_last_times_are_named_in_every_zone() -> None:
    latest = rules.LATEST_EVENT_MS // MINUTE * MINUTE
    assert window_name(latest - MINUTE, latest, Grid(MINUTE, MINUTE), BERLIN) == "[9999-12-31 23:58, 23:59)"
    assert window_name(latest, rules.LATEST_EVENT_MS + 1, Counts(2), BERLIN).endswith(", 23:59:59)")
    assert clock_text(rules.END_OF_INPUT, BERLIN) == "end of input"
    for extreme in (rules.EARLIEST_EVENT_MS, rules.LATEST_EVENT_MS, -(2**63)):
        assert moment_text(extreme, BERLIN)


def test_a_report_with_a_zone_sets_the_zone_of_its_page() -> None:
    days, minutes = Report("days", DAYS, 0), Report("minutes", TEN_MINUTES, 0)
    assert (page_zone([days, minutes]), page_zone([minutes, days]), page_zone([])) == (BERLIN, UTC, UTC)
    assert (zone_of_report(days, UTC), zone_of_report(minutes, BERLIN)) == (BERLIN, BERLIN)
    assert zone_of_report(Report("utc_days", Grid(DAY, DAY), 0), BERLIN) == UTC


@pytest.mark.parametrize(
    ("windows", "words"),
    [
        (DAYS, "days in the time zone Europe/Berlin"),
        (Calendar(7 * DAY, "Europe/Berlin"), "weeks in the time zone Europe/Berlin"),
        (Calendar(6 * HOUR, "Asia/Kolkata"), "windows of 6 h in the time zone Asia/Kolkata"),
        (Grid(MINUTE, MINUTE), "windows of 1 min"),
        (Grid(DAY, DAY), "days in the time zone UTC"),
        (Grid(90 * SECOND, 45 * SECOND), "windows of 90 s, one every 45 s"),
        (Cumulate(DAY, HOUR), "windows that grow by 1 h up to 1 d"),
        (Sessions(30 * MINUTE), "sessions, which end after 30 min without an event"),
        (Counts(1), "windows of 1 event"),
        (Counts(1000), "windows of 1,000 events"),
        (SlidingCounts(1000, 1), "windows of the last 1,000 events, after each event"),
        (SlidingCounts(5, 2), "windows of the last 5 events, after every 2 events"),
    ],
)
def test_windows_in_words_keep_the_spelling_of_the_zone(windows: Windows, words: str) -> None:
    assert windows.describe() == words
    assert sentence_case(words) == words[0].upper() + words[1:]


@pytest.mark.parametrize(
    ("left", "right", "zone", "labels"),
    [
        ("2026-11-01T23:00", "2026-11-22T23:00", BERLIN, "2026-11-02, 2026-11-09, 2026-11-16"),
        ("2026-10-23T22:00", "2026-10-25T23:00", BERLIN, "2026-10-24, 2026-10-25"),
        ("2026-11-25T21:00", "2026-11-26T00:00", BERLIN, "2026-11-25 22:00, 23:00, 2026-11-26 00:00, 01:00"),
        ("2026-10-24T23:00", "2026-10-25T02:00", BERLIN, "2026-10-25 01:00, 02:00 CEST, 02:00 CET, 03:00"),
        ("2026-11-25T10:00", "2026-11-25T10:00:20", UTC, "2026-11-25 10:00:00, 10:00:05, 10:00:10, 10:00:15, 10:00:20"),
        ("2026-11-25T10:00:00.100", "2026-11-25T10:00:00.200", UTC, "2026-11-25 10:00:00"),
        ("2026-11-24T23:54", "2026-11-25T00:14", UTC, "2026-11-24 23:55, 00:00, 2026-11-25 00:05, 00:10"),
        ("2026-11-22T01:00", "2026-11-25T01:00", UTC, "2026-11-23, 2026-11-24, "),
    ],
)
def test_an_axis_has_round_local_times_and_their_days(left: str, right: str, zone: tzinfo, labels: str) -> None:
    ticks = Axis(at(left), at(right), zone).ticks
    assert ", ".join(f"{tick.day} {tick.label}".strip() for tick in ticks) == labels


@given(
    left=st.integers(at("2020-01-01"), at("2030-01-01")),
    span=st.one_of(st.integers(1, HOUR), st.integers(HOUR, 40 * DAY), st.integers(DAY, 4000 * DAY)),
    zone=st.sampled_from([UTC, BERLIN, ZoneInfo("Asia/Kathmandu"), ZoneInfo("Asia/Beirut")]),
)
def test_every_axis_displays_its_day_and_a_few_ticks_in_order(left: int, span: int, zone: tzinfo) -> None:
    ticks = Axis(left, left + span, zone).ticks
    assert 1 <= len(ticks) <= 6
    assert all(left <= tick.time <= left + span for tick in ticks)
    assert all(before.time < after.time for before, after in pairwise(ticks))
    dates = {tick.time: date_text(tick.time, zone) for tick in ticks}
    assert len({(dates[tick.time], tick.label) for tick in ticks}) == len(ticks)
    assert ticks[0].day or len(ticks[0].label) == len("2026-11-25")
    axis = Axis(left, left + span, zone)
    for texts in ([(tick, tick.label) for tick in ticks], [(tick, tick.day) for tick in ticks]):
        spans = [axis.span(tick, text) for tick, text in texts if text]
        assert all(before.right <= after.left for before, after in pairwise(spans))
        assert all(span.left >= 0 and span.right <= 100 for span in spans)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0 s"),
        (40, "40 ms"),
        (700, "0.7 s"),
        (1000, "1 s"),
        (60_000, "1 min"),
        (59_990, "1 min"),
        (61_000, "61 s"),
        (90_000, "90 s"),
        (119_990, "2 min"),
        (150_000, "2.5 min"),
        (3_599_990, "1 h"),
        (5_400_000, "90 min"),
        (DAY, "1 d"),
        (DAY - 1, "1 d"),
        (36 * HOUR, "36 h"),
        (7 * DAY, "7 d"),
        (-3000, "-3 s"),
    ],
)
def test_a_duration_has_no_superfluous_digit_or_small_unit(milliseconds: int, text: str) -> None:
    assert span_of(milliseconds) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 0, "0 %"),
        (0, 5, "0 %"),
        (5, 5, "100 %"),
        (1, 10_000_000, "< 0.01 %"),
        (1, 10_000, "0.01 %"),
        (15, 100_000, "0.015 %"),
        (1, 3, "33 %"),
        (994, 1000, "99.4 %"),
        (995, 1000, "99.5 %"),
        (99_999, 100_000, "> 99.9 %"),
        (986, 1000, "99 %"),
    ],
)
def test_a_share_is_0_or_100_percent_only_if_it_is(part: int, whole: int, text: str) -> None:
    assert share(part, whole) == text


@given(st.integers(0, 10**12), st.integers(1, 10**12))
def test_no_share_has_an_exponent(part: int, whole: int) -> None:
    part, whole = sorted((part, whole))
    text = share(part, whole)
    assert "e" not in text
    assert (text == "100 %") == (part == whole)
    assert (text == "0 %") == (part == 0)


def test_a_count_agrees_with_its_noun() -> None:
    assert [counted(n, "window") for n in (0, 1, 2, 1000)] == ["0 windows", "1 window", "2 windows", "1,000 windows"]
    assert (counted(1, "batch", "batches"), counted(2, "batch", "batches")) == ("1 batch", "2 batches")


def test_an_estimate_is_marked_wherever_its_name_is_written() -> None:
    page = templates("tidemark.pipeline.web.dashboard").from_string(
        "{{ 'unique_users' | words }}, {{ 'page_views' | words }}"
    )
    assert page.render() == "unique users (about), page views"
    own = (FieldMeasure("pages", Function.UNIQUE, "page_url"), FieldMeasure("revenue", Function.SUM, "price"))
    report = Report("site", DAYS, 0, (), measures=("unique_users", "pages", "revenue"), field_measures=own)
    page = templates("tidemark.pipeline.web.dashboard").from_string(
        "{% for name in report.measures %}{{ name | words(report) }};{% endfor %}{{ 'pages' | words }}"
    )
    assert page.render(report=report) == "unique users (about);pages (about);revenue;pages"


@pytest.mark.parametrize(
    ("state", "covered", "said"),
    [
        ("final", (0, 24), "final"),
        ("so far", (0, 12), "so far, until 12:00"),
        ("so far", (3, 12), "so far, 03:00 to 12:00"),
        ("partial", (3, 24), "partial, from 03:00"),
        ("partial", (0, 12), "partial, until 12:00"),
        ("partial", (3, 12), "partial, 03:00 to 12:00"),
    ],
)
def test_a_state_names_the_time_that_is_covered(state: str, covered: tuple[int, int], said: str) -> None:
    midnight, hour = at("2024-05-01"), HOUR
    first, until = (midnight + hours * hour for hours in covered)
    times = Times(period_of("2024-05-01..2024-05-01", ZoneInfo("UTC"), midnight))
    assert times.state(state, (first, until), (midnight, midnight + 24 * hour)) == said
