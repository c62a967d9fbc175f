"""A day: the first screen of the dashboard, of the windows that end on it and the batches that were committed on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pipeline import columns as c
from pipeline.event_time import lateness
from pipeline.event_time.reports import Report
from pipeline.event_time.windows.periodic import Periodic
from pipeline.instants import span_of, time_of
from pipeline.reading.day_report.calendar_day import Day, disjoint_ends
from pipeline.reading.day_report.day_commits import DayCommits, committed_on
from pipeline.reading.day_report.window_bars import bars_of, totals
from pipeline.reading.ledger_summary import LedgerSummary
from pipeline.reading.pages.late_changes import Correction, LateWindow, corrections_of, late_windows
from pipeline.reading.pages.table_reader import CurrentTables
from pipeline.reading.pages.top_lists import TopList, list_reports, main_report, top_list
from pipeline.reading.pages.watermark_lanes import Lane, explain, lanes_of
from pipeline.reading.pages.watermark_picture import Picture, picture_of
from pipeline.reading.pages.window_sums import ReportWindow, windows_in
from pipeline.tables.engines import Engine
from pipeline.tables.query import rows_of
from pipeline.tables.schemas import USER_TOTALS

_LATE: Final = 24


@dataclass(frozen=True, slots=True)
class Daily:
    """What the page of a day shows; times in milliseconds."""

    summary: LedgerSummary
    state: str
    report: Report | None
    """Whose windows are shown."""
    ends: tuple[int, int] | None
    """The earliest and the latest end of a window that it has published at all."""
    bars: list[ReportWindow]
    sums: dict[str, int]
    """What the windows have together, by measure."""
    users: int | None
    """Different ones; None where no report tells them."""
    new_users: int | None
    """Those first seen on the day; None where `user_totals` is not kept."""
    tops: list[TopList]
    late: list[LateWindow]
    changed: int
    """Windows that took late events, of which some are listed."""
    corrections: list[Correction]
    committed: DayCommits
    lanes: list[Lane]
    sentences: list[str]
    """Why the watermark is where it is; none where the newest batch was committed on another day."""
    picture: Picture | None


def daily_of(tables: CurrentTables, summary: LedgerSummary, day: Day, now: int) -> Daily:
    """A day as it is now."""
    reports, committed = summary.policy.reports, committed_on(tables, day)
    report = main_report([one for one in reports if not one.windows.has_overlap]) or main_report(reports)
    windows = windows_in(tables, report, day.span) if report else []
    shown, adding_up = _apart(windows, report, day), report.sums if report else []
    is_current, lanes = day.start <= summary.committed_at < day.end, lanes_of(summary)
    return Daily(
        summary=summary,
        state=state_sentence(day, now, summary, report, committed.passed_at),
        report=report,
        ends=tables.ends(report) if report else None,
        bars=bars_of(shown, day, adding_up),
        sums=totals(shown, adding_up),
        users=_users(tables, reports, day),
        new_users=_new_users(tables, day),
        tops=[_top(tables, one, day) for one in list_reports(reports)],
        late=late_windows(tables, windows, _LATE),
        changed=sum(window.late_events > 0 for window in windows),
        corrections=corrections_of(tables, day.span),
        committed=committed,
        lanes=lanes,
        sentences=explain(summary, lanes) if is_current else [],
        picture=picture_of(summary, lanes, report, now) if is_current else None,
    )


def state_sentence(day: Day, now: int, summary: LedgerSummary, report: Report | None, passed_at: int | None) -> str:
    """Whether the day is over by the clock and by the watermark, in words.

    `report` is the one whose windows are shown, `passed_at` when the watermark came to the day's end.
    """
    if now < day.start:
        return f"The day has not begun: it begins at {time_of(day.start, day.zone)}."
    if now < day.end:
        return f"The day goes on for {span_of(day.end - now)}: this is as of {time_of(now, day.zone)}."
    if passed_at is None:
        where = "there is none yet" if summary.watermark is None else f"it is at {time_of(summary.watermark, day.zone)}"
        return f"The day is over by the clock, but the watermark has not come to its end: {where}."
    passed = f"The watermark came to the end of the day at {time_of(passed_at, day.zone)}"
    if report is not None and not lateness.is_closed(day.end, lateness.closed_until(report, summary.watermark)):
        return f"{passed}: all windows have fired, and late events may still change the last ones."
    return f"{passed}: what is shown is final, but for what `tidemark correct` adds."


def _apart(windows: list[ReportWindow], report: Report | None, day: Day) -> list[ReportWindow]:
    """The windows less those that overlap with others."""
    if report is None or not isinstance(report.windows, Periodic) or not report.windows.has_overlap:
        return windows
    ends = set(disjoint_ends(report.windows, day))
    return [window for window in windows if window.end in ends]


def _top(tables: CurrentTables, report: Report, day: Day) -> TopList:
    assert isinstance(report.windows, Periodic)  # noqa: S101 - lists are made of no other
    ends, those = list(disjoint_ends(report.windows, day)), ""
    if report.windows.has_overlap:
        those = f"AND {c.WINDOW_END} IN ({', '.join(Engine.DELTA_RS.time(str(end)) for end in ends) or 'NULL'})"
    return top_list(tables, report, day.span, len(ends), those)


def _users(tables: CurrentTables, reports: Sequence[Report], day: Day) -> int | None:
    """An event is in a window of the day even where it is in others, too: who it is from counts once."""
    of_users = next((one for one in list_reports(reports) if one.keys == (c.USER_ID,)), None)
    rows = tables.live(of_users, f"count(DISTINCT {c.USER_ID}) AS users", "", day.span, {}) if of_users else []
    return rows[0]["users"] if rows else None


def _new_users(tables: CurrentTables, day: Day) -> int | None:
    table = tables.find(USER_TOTALS.name)
    if table is None:
        return None
    start, end = (Engine.DELTA_RS.time(str(time)) for time in day.span)
    sql = f"SELECT count(*) AS users FROM it WHERE {c.FIRST_SEEN} >= {start} AND {c.FIRST_SEEN} < {end}"  # noqa: S608 - ours
    found: int = rows_of(sql, it=table)[0]["users"]
    return found
