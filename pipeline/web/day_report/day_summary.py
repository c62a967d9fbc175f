"""The data of a day's page: the windows that end on it, and the batches that were committed on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from tidemark.command_line.counts import span_of
from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import lateness
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.reading.ledger_summary import LedgerSummary
from tidemark.pipeline.reading.table_reader import CurrentTables
from tidemark.pipeline.reading.window_names import moment_text
from tidemark.pipeline.tables.engines import Engine
from tidemark.pipeline.tables.query import rows_of
from tidemark.pipeline.tables.schemas import USER_TOTALS
from tidemark.pipeline.web.day_report.calendar_day import Day, disjoint_ends
from tidemark.pipeline.web.day_report.day_commits import DayCommits, committed_on
from tidemark.pipeline.web.day_report.window_bars import bars_of, totals
from tidemark.pipeline.web.pages.late_changes import Correction, LateWindow, corrections_of, late_windows
from tidemark.pipeline.web.pages.top_lists import TopList, list_reports, main_report, top_list
from tidemark.pipeline.web.pages.watermark_lanes import Lane, explain, lanes_of
from tidemark.pipeline.web.pages.watermark_picture import Picture, picture_of
from tidemark.pipeline.web.pages.window_sums import ReportWindow, windows_in

_LATE: Final = 24


@dataclass(frozen=True, slots=True)
class DaySummary:
    """The data of a day's page; times in milliseconds."""

    summary: LedgerSummary
    state: str
    report: Report | None
    """Report whose windows are shown."""
    ends: tuple[int, int] | None
    """The earliest and the latest end of a published window of any day."""
    bars: list[ReportWindow]
    sums: dict[str, int | Decimal]
    """Sums over the windows, by measure."""
    users: int | None
    """Number of different users; None if no report has it."""
    new_users: int | None
    """Users first seen on the day; None without `user_totals`."""
    tops: list[TopList]
    late: list[LateWindow]
    changed: int
    """Number of windows with late events; the newest are listed."""
    corrections: list[Correction]
    committed: DayCommits
    lanes: list[Lane]
    sentences: list[str]
    """Why the watermark is where it is; empty if the newest batch was committed on another day."""
    picture: Picture | None


def daily_of(tables: CurrentTables, summary: LedgerSummary, day: Day, now: int) -> DaySummary:
    """Reads the data of a day at the time `now`, in ms."""
    reports, committed = summary.policy.reports, committed_on(tables, day)
    report = main_report([report for report in reports if not report.windows.has_overlap]) or main_report(reports)
    windows = windows_in(tables, report, day.span) if report else []
    disjoint, additive = _without_overlap(windows, report, day), report.sums if report else []
    is_current, lanes = day.start <= summary.committed_at < day.end, lanes_of(summary)
    return DaySummary(
        summary=summary,
        state=state_sentence(day, now, summary, report, committed.passed_at),
        report=report,
        ends=tables.ends(report) if report else None,
        bars=bars_of(disjoint, day, additive),
        sums=totals(disjoint, additive),
        users=_users(tables, reports, day),
        new_users=_new_users(tables, day),
        tops=[_top(tables, key_report, day) for key_report in list_reports(reports)],
        late=late_windows(tables, windows, _LATE),
        changed=sum(window.late_events > 0 for window in windows),
        corrections=corrections_of(tables, day.span),
        committed=committed,
        lanes=lanes,
        sentences=explain(summary, lanes) if is_current else [],
        picture=picture_of(summary, lanes, report, now) if is_current else None,
    )


def state_sentence(day: Day, now: int, summary: LedgerSummary, report: Report | None, passed_at: int | None) -> str:
    """Returns a sentence on whether the day is over by the clock and by the watermark.

    `report` is the report on the page; `passed_at` is the time in ms at which the watermark reached the day's end.
    """
    if now < day.start:
        return f"The day has not started: it starts at {moment_text(day.start, day.zone)}."
    if now < day.end:
        return f"The day ends in {span_of(day.end - now)}; this page is as of {moment_text(now, day.zone)}."
    if passed_at is None:
        where = (
            "there is no watermark yet"
            if summary.watermark is None
            else f"it is at {moment_text(summary.watermark, day.zone)}"
        )
        return f"The day is over by the clock, but the watermark has not reached its end: {where}."
    passed = f"The watermark reached the end of the day at {moment_text(passed_at, day.zone)}"
    if report is not None and not lateness.is_closed(day.end, lateness.closed_until(report, summary.watermark)):
        return f"{passed}: all windows have fired, but late events may still change the last windows."
    return f"{passed}: the results are final, except for corrections by `tidemark correct`."


def _without_overlap(windows: list[ReportWindow], report: Report | None, day: Day) -> list[ReportWindow]:
    """Returns windows that cover the day without overlap."""
    if report is None or not report.windows.has_overlap:
        return windows
    ends = set(disjoint_ends(report.windows, day))
    return [window for window in windows if window.end in ends]


def _top(tables: CurrentTables, report: Report, day: Day) -> TopList:
    ends, condition = list(disjoint_ends(report.windows, day)), ""
    if report.windows.has_overlap:
        condition = f"AND {c.WINDOW_END} IN ({', '.join(Engine.DELTA_RS.time(str(end)) for end in ends) or 'NULL'})"
    return top_list(tables, report, day.span, len(ends), condition)


def _users(tables: CurrentTables, reports: Sequence[Report], day: Day) -> int | None:
    """Counts the different users in the windows of the day; overlapping windows do not matter."""
    of_users = next((report for report in list_reports(reports) if report.keys == (c.USER_ID,)), None)
    rows = tables.live(of_users, f"count(DISTINCT {c.USER_ID}) AS users", "", day.span, {}) if of_users else []
    return rows[0]["users"] if rows else None


def _new_users(tables: CurrentTables, day: Day) -> int | None:
    table = tables.find(USER_TOTALS.name)
    if table is None:
        return None
    start, end = (Engine.DELTA_RS.time(str(time)) for time in day.span)
    sql = f"SELECT count(*) AS users FROM totals WHERE {c.FIRST_SEEN} >= {start} AND {c.FIRST_SEEN} < {end}"  # noqa: S608 - ours
    users: int = rows_of(sql, totals=table)[0]["users"]
    return users
