"""A day by the clocks of a zone, its windows, their bars, and whether it is over."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.verify.site import PAGE_VIEWS_ALONE
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.event_time.windows.cumulate import Cumulate
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.reading.ledger_summary import LedgerSummary
from tidemark.pipeline.web.day_report.calendar_day import Day, checked_day, day_of, disjoint_ends
from tidemark.pipeline.web.day_report.day_summary import state_sentence
from tidemark.pipeline.web.day_report.window_bars import bars_of, totals
from tidemark.pipeline.web.pages.window_sums import ReportWindow

MINUTE, HOUR = 60_000, 3_600_000
MAY_DAY = day_of("2024-05-01", ZoneInfo("UTC"), 0)
REPORT = Report("page_views", Grid(MINUTE, MINUTE), 5 * MINUTE)


def at(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("date", "zone", "start", "hours"),
    [
        ("2026-11-22", "UTC", "2026-11-22T00:00", 24),
        ("2026-11-22", "Asia/Kolkata", "2026-11-21T18:30", 24),
        ("2026-03-29", "Europe/Berlin", "2026-03-28T23:00", 23),
        ("2026-10-25", "Europe/Berlin", "2026-10-24T22:00", 25),
        ("2026-03-29", "Asia/Beirut", "2026-03-28T22:00", 23),  # its clocks jump over midnight
    ],
)
def test_a_day_is_as_long_as_the_clocks_of_its_zone_say(date: str, zone: str, start: str, hours: int) -> None:
    day = day_of(date, ZoneInfo(zone), 0)
    assert (day.start, day.end - day.start) == (at(start), hours * HOUR)


def test_today_and_yesterday_are_those_of_the_zone() -> None:
    now = at("2026-11-22T23:30")
    found = {
        zone: [str(day_of(word, ZoneInfo(zone), now).date) for word in ("today", "yesterday")]
        for zone in ("UTC", "Europe/Berlin", "America/New_York")
    }
    assert found == {
        "UTC": ["2026-11-22", "2026-11-21"],
        "Europe/Berlin": ["2026-11-23", "2026-11-22"],
        "America/New_York": ["2026-11-22", "2026-11-21"],
    }


@pytest.mark.parametrize("text", ["", "tomorrow", "2026-02-30", "22.11.2026"])
def test_a_text_that_is_not_a_day_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a day: write today, yesterday, or a date such as 2026-11-22"):
        checked_day(text)


@pytest.mark.parametrize(
    "windows",
    [
        Grid(10 * MINUTE, 10 * MINUTE),
        Grid(10 * MINUTE, 5 * MINUTE),
        Grid(HOUR, MINUTE),
        Cumulate(HOUR, 5 * MINUTE),
        Cumulate(24 * HOUR, HOUR),
    ],
)
def test_windows_that_overlap_are_thinned_to_those_that_make_the_day(windows: Grid | Cumulate) -> None:
    ends = list(disjoint_ends(windows, MAY_DAY))
    begins = [windows.begin(end) for end in ends]
    assert (ends[0], begins[-1]) == (MAY_DAY.end, MAY_DAY.start)
    assert begins[:-1] == ends[1:]


def test_windows_larger_than_a_day_belong_to_the_day_on_which_they_end() -> None:
    week = Grid(168 * HOUR, 168 * HOUR)  # they end on Thursdays
    found = [list(disjoint_ends(week, day_of(f"2024-05-0{n}", ZoneInfo("UTC"), 0))) for n in (1, 2, 3)]
    assert [len(ends) for ends in found] == [1, 0, 0]


def window(minute: int, length: int = 1, state: str = "closed", late: int = 0) -> ReportWindow:
    start = MAY_DAY.start + minute * MINUTE
    return ReportWindow(start, start + length * MINUTE, state, 2, late, 7, {"page_views": 3, "unique_users": 2})


@pytest.mark.parametrize(("length", "together"), [(1, 15), (7, 3), (10, 2), (15, 1), (60, 1)])
def test_every_bar_of_a_steady_site_is_as_high_as_the_others(length: int, together: int) -> None:
    windows = [window(minute, length) for minute in range(0, 1440 - length + 1, length)]
    bars = bars_of(windows, MAY_DAY, {"page_views"})
    assert {bar.sums["page_views"] for bar in bars[:-1]} == {3 * together}
    assert sum(bar.sums["page_views"] for bar in bars) == 3 * len(windows)
    assert sum(bar.rows for bar in bars) == 2 * len(windows)
    assert all(MAY_DAY.start <= bar.start < bar.end <= MAY_DAY.end for bar in bars)
    assert all(one.end <= other.start for one, other in pairwise(bars))


def test_a_bar_has_the_state_of_its_least_final_window_and_sums_additive_measures_only() -> None:
    (bar,) = bars_of([window(0), window(1, state="fired", late=4), window(2, state="open")], MAY_DAY, {"page_views"})
    assert (bar.start, bar.end) == (MAY_DAY.start, MAY_DAY.start + 15 * MINUTE)
    assert (bar.state, bar.late_events, bar.sums) == ("open", 4, {"page_views": 9})
    (alone,) = bars_of([window(0, 60)], MAY_DAY, {"page_views"})
    assert alone.sums == {"page_views": 3, "unique_users": 2}
    assert totals([alone, alone], {"page_views"}) == {"page_views": 6}
    assert bars_of([], MAY_DAY, set()) == []


def summary(watermark: int | None) -> LedgerSummary:
    policy = replace(PAGE_VIEWS_ALONE, strategy=Bounded(0), reports=(REPORT,))
    fixed: dict[str, Any] = {
        "table_id": "",
        "batch": 10**9 + 7,
        "topic": "t",
        "committed_at": MAY_DAY.end,
        "opened_at": 0,
        "records_per_second": None,
    }
    return LedgerSummary(**fixed, watermark=watermark, policy=policy, partitions=(), accounts={}, last_event_at={})


@pytest.mark.parametrize(
    ("now", "watermark", "passed_at", "words"),
    [
        (MAY_DAY.start - 1, None, None, "The day has not started: it starts at 2024-05-01 00:00:00."),
        (MAY_DAY.start, None, None, "The day ends in 1 d; this page is as of 2024-05-01 00:00:00."),
        (MAY_DAY.end - 1, None, None, "The day ends in 1 ms"),
        (MAY_DAY.end, None, None, "the watermark has not reached its end: there is no watermark yet."),
        (MAY_DAY.end, MAY_DAY.end - 1000, None, "has not reached its end: it is at 2024-05-01 23:59:59."),
        (MAY_DAY.end, MAY_DAY.end, MAY_DAY.end, "late events may still change the last windows."),
        (MAY_DAY.end, MAY_DAY.end + 5 * MINUTE - 1, MAY_DAY.end, "late events may still change the last windows."),
        (
            MAY_DAY.end,
            MAY_DAY.end + 5 * MINUTE,
            MAY_DAY.end,
            "at 2024-05-02 00:00:00: the results are final",
        ),
    ],
)
def test_the_state_of_a_day_depends_on_the_clock_and_on_the_watermark(
    now: int, watermark: int | None, passed_at: int | None, words: str
) -> None:
    assert words in state_sentence(MAY_DAY, now, summary(watermark), REPORT, passed_at)


def test_the_start_of_a_day_is_written_in_its_zone() -> None:
    day: Day = day_of("2024-05-01", ZoneInfo("Europe/Berlin"), 0)
    assert "starts at 2024-05-01 00:00:00" in state_sentence(day, 0, summary(None), REPORT, None)
