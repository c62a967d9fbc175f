"""The windows of a day as bars that are wide enough to be seen. Pure."""

from collections.abc import Collection, Iterable, Sequence
from itertools import groupby
from typing import Final

from pipeline.reading.day_report.calendar_day import Day
from pipeline.reading.pages.window_sums import ReportWindow

_NARROWEST_MS: Final = 900_000


def bars_of(windows: Sequence[ReportWindow], day: Day, adding_up: Collection[str]) -> list[ReportWindow]:
    """The windows, oldest first; where they are shorter than a quarter of an hour, as many together as make one.

    Of several together only measures that add up are told.
    """
    longest = max((window.end - window.start for window in windows), default=_NARROWEST_MS)
    if longest >= _NARROWEST_MS:
        return list(windows)
    # A multiple of theirs: as many windows end in each bar, and none is higher because it has one more.
    width = -(-_NARROWEST_MS // longest) * longest
    groups = groupby(windows, lambda window: (window.end - 1 - day.start) // width)
    return [_bar(day.start + number * width, width, day, list(found), adding_up) for number, found in groups]


def totals(windows: Iterable[ReportWindow], adding_up: Collection[str]) -> dict[str, int]:
    """What the windows have together, by measure."""
    found: dict[str, int] = {}
    for window in windows:
        for name, value in window.sums.items():
            if name in adding_up:
                found[name] = found.get(name, 0) + value
    return found


def _bar(start: int, width: int, day: Day, windows: Sequence[ReportWindow], adding_up: Collection[str]) -> ReportWindow:
    return ReportWindow(
        start=start,
        end=min(start + width, day.end),
        state=max(window.state for window in windows),  # as of the rows of a window: some may be open, others closed
        rows=sum(window.rows for window in windows),
        late_events=sum(window.late_events for window in windows),
        published_batch=max(window.published_batch for window in windows),
        sums=totals(windows, adding_up),
    )
