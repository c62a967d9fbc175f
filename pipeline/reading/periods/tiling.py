"""Covers a span of time by the longest windows that fit, then by shorter ones, so that each event counts once. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.grid import Grid


@dataclass(frozen=True, slots=True)
class WindowLevel:
    """A report of windows that tumble, and which of them a table has; times in milliseconds since 1970."""

    report: Report
    since: int
    """Windows that start before it are unknown: rows were removed by age, or the report counted later."""
    until: int
    """Windows that end at or before it have fired, and are published."""
    closed: int
    """Windows that end at or before it are closed: their results are final."""

    @property
    def size_ms(self) -> int:
        """Length of its windows; days may have an hour more or less."""
        return _windows(self.report).size_ms

    def floor(self, time: int) -> int:
        """Returns the last bound of a window at or before `time`."""
        return _windows(self.report).reached(time)

    def ceiling(self, time: int) -> int:
        """Returns the first bound of a window at or after `time`."""
        floor = self.floor(time)
        return floor if floor == time else _windows(self.report).latest_end(time)

    def goes_on(self, time: int, end: int) -> bool:
        """Returns whether a window that has not fired starts at `time`, and ends at or before `end`."""
        if not self.since <= time < end or self.floor(time) != time:
            return False
        return self.until < _windows(self.report).latest_end(time) <= end


@dataclass(frozen=True, slots=True)
class WindowRun:
    """Windows of one level that follow one another: they cover `[start, end)`."""

    level: WindowLevel
    start: int
    end: int

    @property
    def ends(self) -> list[int]:
        """The ends of its windows, in order."""
        ends, windows = list[int](), _windows(self.level.report)
        while (end := windows.latest_end(ends[-1] if ends else self.start)) <= self.end:
            ends.append(end)
        return ends


@dataclass(frozen=True, slots=True)
class Tiling:
    """Runs that follow one another: they cover `[start, covered_until)` of a span that ends at `end`."""

    start: int
    """The start of the span, or a later time if earlier windows are unknown."""
    end: int
    runs: tuple[WindowRun, ...]
    waits: bool = False
    """Whether it goes on with a window that has not fired; otherwise no window fits the rest of the span."""

    @property
    def covered_until(self) -> int:
        """The end of the last run; `start` without runs."""
        return self.runs[-1].end if self.runs else self.start

    @property
    def is_whole(self) -> bool:
        """Whether the span is covered up to its end."""
        return self.covered_until >= self.end

    @property
    def final_until(self) -> int:
        """The time up to which every window of the runs is closed."""
        for run in self.runs:
            if run.level.closed < run.end:
                return max(run.start, run.level.floor(run.level.closed))
        return self.covered_until

    @property
    def is_final(self) -> bool:
        """Whether the span is whole, and all its windows are closed."""
        return self.is_whole and self.final_until >= self.end

    @property
    def may_change_until(self) -> int | None:
        """The watermark (ms) that closes the last of its windows; None if they are closed."""
        waits = [run.end + run.level.report.allowed_lateness_ms for run in self.runs if run.level.closed < run.end]
        return max(waits, default=None)


def tumbles(report: Report) -> bool:
    """Returns whether a report has windows that cover time without overlap, with bounds that follow from the clock."""
    windows = report.windows
    return isinstance(windows, Grid | Calendar) and not windows.has_overlap


def longest_first(levels: Sequence[WindowLevel]) -> list[WindowLevel]:
    """Returns the levels in the order in which spans are covered; of equal lengths the first stays first."""
    return sorted(levels, key=lambda level: -level.size_ms)


def tiling_of(start: int, end: int, levels: Sequence[WindowLevel]) -> Tiling:
    """Returns the tiling of `[start, end)` by `levels`, up to the first time that no fired window covers.

    >>> hour = 3_600_000
    >>> sizes = 24 * hour, hour
    >>> days, hours = (WindowLevel(Report(f"{size}", Grid(size, size), 0), 0, 50 * hour, 0) for size in sizes)
    >>> tiling = tiling_of(23 * hour, 72 * hour, [days, hours])
    >>> [(run.level.report.name, run.start // hour, run.end // hour) for run in tiling.runs]
    [('3600000', 23, 24), ('86400000', 24, 48), ('3600000', 48, 50)]
    """
    levels = known_for(start, levels)
    # If every level starts later, earlier times are unknown. Otherwise a gap at the start is one that no level fits.
    is_later = bool(levels) and all(level.since > start for level in levels)
    begin = min(end, *(level.ceiling(level.since) for level in levels)) if is_later else start
    runs = list[WindowRun]()
    for run in _runs(begin, end, longest_first(levels)):
        if run.start != (runs[-1].end if runs else begin):
            break
        runs.append(run)
    until = runs[-1].end if runs else begin
    return Tiling(begin, end, tuple(runs), waits=any(level.goes_on(until, end) for level in levels))


def known_for(start: int, levels: Sequence[WindowLevel]) -> list[WindowLevel]:
    """Returns of equal windows the first level that is known since `start` (ms), else the one known for longest."""
    best = dict[object, WindowLevel]()
    for level in levels:
        other = best.setdefault(level.report.windows, level)
        if level.since < other.since and other.since > start:
            best[level.report.windows] = level
    return [*best.values()]


def _runs(start: int, end: int, levels: Sequence[WindowLevel]) -> list[WindowRun]:
    if start >= end or not levels:
        return []
    level, shorter = levels[0], levels[1:]
    first, last = level.ceiling(max(start, level.since)), level.floor(min(end, level.until))
    if first >= last:
        return _runs(start, end, shorter)
    return [*_runs(start, first, shorter), WindowRun(level, first, last), *_runs(last, end, shorter)]


def _windows(report: Report) -> Grid | Calendar:
    windows = report.windows
    assert isinstance(windows, Grid | Calendar)  # noqa: S101 - `tumbles` selects them
    return windows
