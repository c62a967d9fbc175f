"""Lists of the users and pages with the most events, and the reports that the first page shows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pipeline import columns as c
from pipeline.event_time.reports import Report
from pipeline.event_time.windows.periodic import Periodic
from pipeline.reading.pages.table_reader import CurrentTables, Span
from pipeline.reading.pages.window_sums import main_measure, window_step_ms

_WINDOWS: Final = 10
"""Number of windows of a list; a window of users may have many rows."""
_LONGEST: Final = 10


@dataclass(frozen=True, slots=True)
class TopList:
    """The values of a key with the most events in some windows of a report."""

    report: str
    key: str
    measure: str
    windows: int
    entries: list[tuple[str, int]]


def main_report(reports: Sequence[Report]) -> Report | None:
    """Returns the report whose windows are shown: with windows of time and the fewest keys."""
    timed = [report for report in reports if isinstance(report.windows, Periodic)]
    return min(timed, key=lambda report: (len(report.keys), bool(report.where)), default=None)


def list_reports(reports: Sequence[Report]) -> Iterator[Report]:
    """Yields for pages and users the first report with only this key, windows of time and all events."""
    for key in (c.PAGE_URL, c.USER_ID):
        matches = (r for r in reports if r.keys == (key,) and not r.where and isinstance(r.windows, Periodic))
        if (report := next(matches, None)) is not None:
            yield report


def newest_top_list(tables: CurrentTables, report: Report) -> TopList:
    """Reads the list of the newest and the open windows of a report with one key.

    With overlapping windows it is only the newest window, because an event is in several.
    """
    assert isinstance(report.windows, Periodic)  # noqa: S101 - see `list_reports`
    ends, count = tables.ends(report), _WINDOWS
    span: Span = (ends and ends[1] - count * window_step_ms(report.windows, ends[1]), None)
    if report.windows.has_overlap:
        count, span = 1, (ends and ends[1] - 1, ends and ends[1])
    return top_list(tables, report, span, count)


def top_list(tables: CurrentTables, report: Report, span: Span, windows: int, condition: str = "") -> TopList:
    """Reads the list of the `windows` windows in a span; `condition` is SQL that selects windows."""
    (key,), name = report.keys, main_measure(report)
    rows = tables.live(
        report,
        f"{key} AS key, CAST(sum({name}) AS BIGINT) AS events",
        f"AND {key} IS NOT NULL {condition} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {_LONGEST}",
        span,
        {},
    )
    return TopList(report.name, key, name, windows, [(row["key"], row["events"] or 0) for row in rows])
