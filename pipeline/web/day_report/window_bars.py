"""The windows of a day as bars that are wide enough to be visible. Pure."""

from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from itertools import groupby
from typing import Final

from tidemark.pipeline.web.day_report.calendar_day import Day
from tidemark.pipeline.web.pages.window_sums import ReportWindow

_NARROWEST_MS: Final = 900_000


def bars_of(windows: Sequence[ReportWindow], day: Day, additive: Collection[str]) -> list[ReportWindow]:
    """Returns the windows, oldest first; merges windows that are shorter than a quarter of an hour into bars.

    Merged bars have only the measures in `additive`.
    """
    longest = max((window.end - window.start for window in windows), default=_NARROWEST_MS)
    if longest >= _NARROWEST_MS:
        return list(windows)
    # A multiple of the windows' size, so that each bar has the same number of windows.
    width = -(-_NARROWEST_MS // longest) * longest
    groups = groupby(windows, lambda window: (window.end - 1 - day.start) // width)
    return [_bar(day.start + index * width, width, day, list(group), additive) for index, group in groups]


def totals(windows: Iterable[ReportWindow], additive: Collection[str]) -> dict[str, int | Decimal]:
    """Sums the measures in `additive` over the windows."""
    sums: dict[str, int | Decimal] = {}
    for window in windows:
        for name, value in window.sums.items():
            if name in additive:
                sums[name] = sums.get(name, 0) + value
    return sums


def _bar(start: int, width: int, day: Day, windows: Sequence[ReportWindow], additive: Collection[str]) -> ReportWindow:
    return ReportWindow(
        start=start,
        end=min(start + width, day.end),
        state=max(window.state for window in windows),  # as for the rows of a window: the highest state
        rows=sum(window.rows for window in windows),
        late_events=sum(window.late_events for window in windows),
        published_batch=max(window.published_batch for window in windows),
        sums=totals(windows, additive),
    )
