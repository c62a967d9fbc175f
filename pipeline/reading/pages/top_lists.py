"""Which reports a page begins with, and lists of who has the most events."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pipeline import columns as c
from pipeline.event_time.reports import Report
from pipeline.event_time.windows.periodic import Periodic
from pipeline.reading.pages.table_reader import CurrentTables, Span
from pipeline.reading.pages.window_sums import main_measure, window_step_ms

_WINDOWS: Final = 10
"""So many windows lists are made of: of a window for each user there are many rows."""
_LONGEST: Final = 10


@dataclass(frozen=True, slots=True)
class TopList:
    """The values of a key with the most events in so many windows of a report."""

    report: str
    key: str
    measure: str
    windows: int
    entries: list[tuple[str, int]]


def main_report(reports: Sequence[Report]) -> Report | None:
    """The report whose windows are shown: of those without sessions and counts the one with the fewest keys."""
    timed = [report for report in reports if isinstance(report.windows, Periodic)]
    return min(timed, key=lambda report: (len(report.keys), bool(report.where)), default=None)


def list_reports(reports: Sequence[Report]) -> Iterator[Report]:
    """For pages and for users the first report that has only this key, windows of time and every event."""
    for key in (c.PAGE_URL, c.USER_ID):
        found = (one for one in reports if one.keys == (key,) and not one.where and isinstance(one.windows, Periodic))
        if (first := next(found, None)) is not None:
            yield first


def newest_top_list(tables: CurrentTables, report: Report) -> TopList:
    """Of the newest windows of a report with one key, and of open ones.

    It is one window alone where they overlap, for an event is in several.
    """
    assert isinstance(report.windows, Periodic)  # noqa: S101 - lists are made of no other
    ends, number = tables.ends(report), _WINDOWS
    span: Span = (ends and ends[1] - number * window_step_ms(report.windows, ends[1]), None)
    if report.windows.has_overlap:
        number, span = 1, (ends and ends[1] - 1, ends and ends[1])
    return top_list(tables, report, span, number)


def top_list(tables: CurrentTables, report: Report, span: Span, number: int, those: str = "") -> TopList:
    """Of so many windows in a span of a report with one key; `those` is SQL of which windows count."""
    (key,), name = report.keys, main_measure(report)
    rows = tables.live(
        report,
        f"{key} AS key, CAST(sum({name}) AS BIGINT) AS events",
        f"AND {key} IS NOT NULL {those} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {_LONGEST}",
        span,
        {},
    )
    return TopList(report.name, key, name, number, [(row["key"], row["events"] or 0) for row in rows])
