"""Lists of the users and pages with the most events, and the reports that the first page shows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from decimal import Decimal
from typing import Final

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.reading.table_reader import CurrentTables, Span
from tidemark.pipeline.reading.window_names import zone_of_report
from tidemark.pipeline.web.pages.window_sums import end_before, largest_first, sum_sql

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
    """Number of published windows; open windows are included, too."""
    has_overlap: bool
    """Whether its windows overlap; then it is the list of the newest window alone."""
    entries: list[tuple[str, int | Decimal]]


def main_report(reports: Sequence[Report]) -> Report | None:
    """Returns the report whose windows are shown: with windows of time and the fewest keys."""
    timed = [report for report in reports if report.windows.ends_are_known]
    return min(timed, key=lambda report: (len(report.keys), bool(report.where)), default=None)


def page_zone(reports: Sequence[Report]) -> tzinfo:
    """Returns the zone of pages that belong to no report: of the report on the first page, else UTC."""
    report = main_report(reports)
    return UTC if report is None else zone_of_report(report, UTC)


def list_reports(reports: Sequence[Report]) -> Iterator[Report]:
    """Yields for pages and users the first report with only this key, windows of time and all events."""
    for key in (c.PAGE_URL, c.USER_ID):
        matches = (r for r in reports if r.keys == (key,) and not r.where and r.windows.ends_are_known)
        if (report := next(matches, None)) is not None:
            yield report


def newest_top_list(tables: CurrentTables, report: Report) -> TopList:
    """Reads the list of the newest and the open windows of a report with one key.

    With overlapping windows it is only the newest window, because an event is in several.
    """
    ends = tables.ends(report)
    if ends is None:
        return top_list(tables, report, (None, None), 0)
    first, last = ends
    if report.windows.has_overlap:
        return top_list(tables, report, (last - 1, last), 1)
    published = (count for count in range(1, _WINDOWS) if end_before(report.windows, last, count) < first)
    count = next(published, _WINDOWS)
    return top_list(tables, report, (end_before(report.windows, last, count), None), count)


def top_list(tables: CurrentTables, report: Report, span: Span, windows: int, condition: str = "") -> TopList:
    """Reads the list of the `windows` windows in a span; `condition` is SQL that selects windows.

    Its measure is the first that any listed value has: measures that are 0 for all values do not order them.
    """
    (key,), names = report.keys, report.sums or [c.LATE_EVENTS]
    rows = tables.live(
        report,
        ", ".join([f"{key} AS key", *(f"{sum_sql(report, name)} AS {name}" for name in names)]),
        f"AND {key} IS NOT NULL {condition} GROUP BY 1 ORDER BY {largest_first(report)}, 1 LIMIT {_LONGEST}",
        span,
        {},
    )
    name = next((name for name in names if any(row[name] for row in rows)), names[0])
    entries = [(row["key"], row[name] or 0) for row in rows]
    return TopList(report.name, key, name, windows, report.windows.has_overlap, entries)
