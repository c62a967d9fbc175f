"""Periods of which a part is unknown: a report that was added in their midst, rows that were removed, a publication."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.periods.traffic_site import BERLIN, FIRST, REPORTS
from tests.verify.site import MINUTE, NOON, POLICY, Event, Site
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.reading.periods.ask import Words
from tidemark.pipeline.reading.periods.figures import Coverage, FigureState, coverage_of, unknown_coverage
from tidemark.pipeline.reading.periods.period import period_of
from tidemark.pipeline.reading.periods.period_report import period_traffic, why_incomplete
from tidemark.pipeline.reading.periods.period_sources import ReportProgress, sources_of
from tidemark.pipeline.reading.periods.reasons import Reasons
from tidemark.pipeline.reading.periods.tiling import WindowLevel, tiling_of

UTC = ZoneInfo("UTC")
MINUTES = Report("by_minute", Grid(MINUTE, MINUTE), MINUTE, keys=())
LANDINGS = Report("pages", Grid(MINUTE, MINUTE), MINUTE, keys=("page_url",), measures=("page_views", "events"))
HOUR = 60 * MINUTE
GONE = "are unknown: rows were removed by age, or the report was added later"


@pytest.mark.slow
def test_a_report_that_was_added_in_the_midst_of_a_day_says_so(tmp_path: Path) -> None:
    site = Site(tmp_path, replace(POLICY, reports=(LANDINGS,), totals=None), committed_at=NOON).open()
    site.batch(Event(1), Event(60))
    site.policy = replace(POLICY, reports=(LANDINGS, MINUTES), totals=None)
    site.open().batch(Event(90)).batch(Event(3000))
    words = Words.checked("2024-05-01..2024-05-01", "none", "UTC", {})
    traffic = period_traffic(str(tmp_path), words, waits=True, clock=lambda: NOON)
    views = traffic.figures["page_views"]
    assert (views.value, views.coverage.state, views.coverage.start) == (1, "partial", NOON + 61 * MINUTE)
    assert views.coverage.reason == f"times before 2024-05-01T13:01:00+00:00 {GONE}"
    assert why_incomplete(traffic) == f"only a part of it is known: {views.coverage.reason}. Choose a later period"
    assert {(bar.coverage.state, bar.page_views is None) for bar in traffic.series[13:15]} == {
        ("partial", False),
        ("final", False),
    }


@pytest.mark.parametrize(
    ("knows_first", "before", "other"),
    [
        (True, "it is before the first event, of 2024-05-01T12:00:00+00:00", "it starts before the first event, of "),
        (False, f"times before 2024-05-01T12:00:00+00:00 {GONE}", "times before 2024-05-01T12:00:00+00:00 are"),
    ],
)
def test_what_retention_removed_is_not_called_before_the_first_event(
    knows_first: bool, before: str, other: str
) -> None:
    progress = {MINUTES.name: ReportProgress(1, NOON + HOUR, NOON + HOUR, NOON - HOUR)}
    sources = sources_of((MINUTES,), progress, None, NOON, NOON + HOUR, None, knows_first=knows_first)
    reasons = Reasons(period_of("2024-04-30..2024-04-30", UTC, NOON), sources, NOON)
    assert reasons.of_span(NOON - 24 * HOUR, NOON) == before
    assert reasons.of_other_side(NOON - 48 * HOUR, NOON - 36 * HOUR).startswith(other)


@pytest.mark.parametrize(
    ("state", "shown"),
    [(FigureState.FINAL, "partial"), (FigureState.COMPLETE, "partial"), (FigureState.SO_FAR, "so far")],
)
def test_a_period_in_which_the_first_event_is_is_known_in_part(state: FigureState, shown: str) -> None:
    sources = sources_of((MINUTES,), {}, None, NOON, NOON + HOUR, None)
    reasons = Reasons(period_of("2024-05-01..2024-05-01", UTC, NOON), sources, NOON)
    coverage = reasons.of_part(Coverage(state, NOON - 12 * HOUR, NOON + 12 * HOUR), NOON - 12 * HOUR)
    reason = "times before the first event, of 2024-05-01T12:00:00+00:00, are unknown"
    assert (coverage.state, coverage.start, coverage.reason) == (shown, NOON, reason)


def test_an_end_that_no_window_will_fit_is_not_waited_for() -> None:
    """The hours end half an hour before the span: at first the next hour is awaited, then nothing.

    |---- hour ----|---- hour ----|-- half --|
                                  ^ 2 h
    """
    report = Report("by_hour", Grid(HOUR, HOUR), MINUTE, keys=())
    states, coverage = [], unknown_coverage(NOON, "")
    for watermark in (NOON + HOUR, NOON + 2 * HOUR, NOON + 9 * HOUR):
        tiling = tiling_of(NOON, NOON + 5 * HOUR // 2, [WindowLevel(report, 0, watermark, watermark - MINUTE)])
        coverage = coverage_of(tiling)
        states.append((str(coverage.state), (coverage.until - NOON) // HOUR, coverage.may_change_until))
    assert states == [("so far", 1, None), ("partial", 2, NOON + 2 * HOUR + MINUTE), ("partial", 2, None)]
    reasons = Reasons(period_of("2024-05-01..2024-05-01", UTC, NOON), sources_of((), {}, None, NOON, NOON, None), NOON)
    assert reasons.of_part(coverage, NOON).reason.startswith("no windows of the reports fit the days of UTC from 2024-")


def test_a_span_is_read_from_the_report_that_knows_it() -> None:
    """The report with fewer keys was added at noon: what is before it is read from the other one."""
    users = Report("by_user", Grid(HOUR, HOUR), MINUTE)
    site = Report("by_hour", Grid(HOUR, HOUR), MINUTE, keys=())
    progress = {
        report.name: ReportProgress(1, NOON + 2 * HOUR, NOON, since) for report, since in ((users, 0), (site, NOON))
    }
    levels = sources_of((users, site), progress, None, 0, NOON + 2 * HOUR, None).site
    spans = [(NOON - HOUR, NOON + HOUR), (NOON, NOON + HOUR)]
    found = [tiling_of(*span, levels) for span in spans]
    assert [[run.level.report.name for run in tiling.runs] for tiling in found] == [["by_user"], ["by_hour"]]
    assert [tiling.start for tiling in found] == [start for start, _ in spans]


@pytest.mark.slow
def test_a_commit_that_is_not_published_yet_is_not_covered(tmp_path: Path) -> None:
    """The watermark passes an hour and a minute, whose rows are not in the tables before their publication."""
    site = Site(tmp_path, replace(POLICY, reports=REPORTS, totals=None), committed_at=NOON).open()
    site.batch(Event(1), Event(58))
    words = replace(Words.checked(f"{FIRST}..{FIRST}", "none", "", {}), zone=ZoneInfo(BERLIN))

    def covered() -> tuple[Any, ...]:
        figures = period_traffic(str(tmp_path), words, waits=False, clock=lambda: NOON).figures
        coverage = figures["page_views"].coverage
        return figures["page_views"].value, (coverage.until - NOON) / MINUTE, figures["visits"].value

    assert covered() == (1, 58, 1)
    site.batch(Event(61, "bob"), Event(59, "cid"), publish=False)
    assert covered() == (1, 58, 1)
    site.publish_again()
    assert covered() == (3, 61, 3)
