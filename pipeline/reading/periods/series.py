"""The series of a period: hours of a day or two, else days. Pure: tables answer through `Store`."""

from collections.abc import Sequence
from typing import Final

from tidemark.pipeline.event_time.windows.base import Window
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.reading.periods.figures import Bar, Coverage, coverage_of, unknown_coverage
from tidemark.pipeline.reading.periods.local_days import day_bounds
from tidemark.pipeline.reading.periods.period import Period
from tidemark.pipeline.reading.periods.tiling import Tiling, WindowLevel, tiling_of
from tidemark.pipeline.reading.periods.window_figures import WindowFigures

_HOUR_MS: Final = 3_600_000
_DAYS_BY_HOUR: Final = 2
_MOST_WINDOWS: Final = 10_000
"""Visitors of bars are counted in up to this many windows."""


def series_of(figures: WindowFigures, *, has_visitors: bool = True) -> list[Bar]:
    """Returns the bars of the period in order; those that no fired window covers have no values.

    Without `has_visitors` none has visitors, and the tables are not asked for them.
    """
    bars = _bounds(figures.asked.period)
    of_views = [_known(figures, tiling_of(*bar, figures.levels)) for bar in bars]
    views, visitors = _views(figures, of_views), _visitors(figures, bars) if has_visitors else _no_visitors(bars)
    return [
        Bar(bar.start, bar.end, views[index], count, _coverage(figures, of_views[index], bar.start), coverage)
        for index, (bar, (count, coverage)) in enumerate(zip(bars, visitors, strict=True))
    ]


def _bounds(period: Period) -> list[Window]:
    """Returns the bounds of the bars."""
    if len(period.days) > _DAYS_BY_HOUR:
        return [day_bounds(day, period.zone) for day in period.days]
    hours, bars = Calendar(_HOUR_MS, period.zone.key), list[Window]()
    while not bars or bars[-1].end < period.end:
        bars.append(hours.window(bars[-1].end if bars else period.start))
    return bars


def _known(figures: WindowFigures, tiling: Tiling) -> Tiling:
    """Returns a tiling, without runs before the first event."""
    beginning = figures.sources.beginning
    is_known = beginning is not None and tiling.covered_until > beginning
    return tiling if is_known else Tiling(tiling.start, tiling.end, ())


def _coverage(figures: WindowFigures, tiling: Tiling, start: int) -> Coverage:
    """Returns the coverage of a tiling of a bar that begins at `start`."""
    return figures.reasons.of_part(coverage_of(tiling), start)


def _views(figures: WindowFigures, tilings: Sequence[Tiling]) -> list[int | None]:
    """Returns the page views of each bar."""
    by_level = dict[WindowLevel, dict[int, int]]()
    for level in dict.fromkeys(run.level for tiling in tilings for run in tiling.runs):
        runs = [run for tiling in tilings for run in tiling.runs if run.level == level]
        span = min(run.start for run in runs), max(run.end for run in runs)
        by_level[level] = figures.store.by_window(level, *span, figures.asked.only)
    return [
        sum(by_level[run.level].get(end, 0) for run in tiling.runs for end in run.ends) if tiling.runs else None
        for tiling in tilings
    ]


def _visitors(figures: WindowFigures, bars: Sequence[Window]) -> list[tuple[int | None, Coverage]]:
    """Returns the exact number of visitors of each bar, and its coverage; None if it is unknown or takes too long."""
    levels = () if figures.asked.only else figures.sources.users
    tilings = [_known(figures, tiling_of(*bar, levels)) for bar in bars]
    runs = [tiling.runs for tiling in tilings]
    windows = sum(len(run.ends) for bar in runs for run in bar)
    every = [run for bar in runs for run in bar]
    if not 0 < windows <= _MOST_WINDOWS or figures.store.has_more_users(every, figures.exact_rows):
        return _no_visitors(bars)
    counts = zip(figures.store.users_by_bar(runs), tilings, bars, strict=True)
    return [(count if tiling.runs else None, _coverage(figures, tiling, bar.start)) for count, tiling, bar in counts]


def _no_visitors(bars: Sequence[Window]) -> list[tuple[int | None, Coverage]]:
    return [(None, unknown_coverage(bar.start, "")) for bar in bars]
