"""Which reports a page begins with, and lists of who has the most events."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline import columns as c
from pipeline.event_time.report import Report
from pipeline.event_time.windows.periodic import Periodic


@dataclass(frozen=True, slots=True)
class Top:
    """The values of a key with the most events in so many windows of a report."""

    report: str
    key: str
    measure: str
    windows: int
    entries: list[tuple[str, int]]


def chief(reports: Sequence[Report]) -> Report | None:
    """The report whose windows are shown: of those without sessions and counts the one with the fewest keys."""
    timed = [report for report in reports if isinstance(report.windows, Periodic)]
    return min(timed, key=lambda report: (len(report.keys), bool(report.where)), default=None)


def listed(reports: Sequence[Report]) -> Iterator[Report]:
    """For pages and for users the first report that has only this key, windows of time and every event."""
    for key in (c.PAGE_URL, c.USER_ID):
        found = (one for one in reports if one.keys == (key,) and not one.where and isinstance(one.windows, Periodic))
        if (first := next(found, None)) is not None:
            yield first
