"""A report: which events it takes, by which keys, in which windows, and how late they may be."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from pipeline.time import rules
from pipeline.time.calendar import Calendar
from pipeline.time.counts import Counts
from pipeline.time.grid import Grid
from pipeline.time.sessions import Sessions
from pipeline.time.totals import Totals

Periodic = Grid | Calendar
"""Windows whose ends are known from the clock alone."""


@dataclass(frozen=True, slots=True)
class Report:
    """A result table over the stream. Times in milliseconds."""

    name: str
    windows: Periodic | Sessions | Counts | Totals
    allowed_lateness_ms: int
    keys: tuple[str, ...] = ("user_id",)
    """Of `user_id`, `page_url` and `event_type`; none for one row per window."""
    where: str = ""
    """SQL over an event's fields; only events for which it holds belong to the report."""
    measures: tuple[str, ...] = ("page_views", "clicks")
    """Of `page_views`, `clicks`, and in windows of time `unique_users` and `sessions_begun`: what its table tells."""
    session_gap_ms: int = 0
    """For `sessions_begun`: a user's events that follow one another within it are one session."""
    closed_before_ms: int = rules.NO_WATERMARK
    """Windows that end no later were closed before the epoch began, whatever the settings say now."""

    @property
    def grouped_by(self) -> tuple[str, ...]:
        """By what a batch is added up for it: the keys, and the user where users or their sessions are counted."""
        users = {"unique_users", "sessions_begun"} & {*self.measures}
        return tuple(sorted({*self.keys, "user_id"})) if users else self.keys

    @property
    def kept_by(self) -> tuple[str, ...]:
        """By what its panes are kept: where only different users are counted, a sketch stands for them."""
        return self.grouped_by if self.session_gap_ms else self.keys

    @property
    def keeps_sketches(self) -> bool:
        """Whether its panes keep sketches of different users, because users themselves are not in them."""
        return "unique_users" in self.measures and "user_id" not in self.kept_by

    @property
    def is_timed(self) -> bool:
        """Whether its panes keep the first and the last time of their events."""
        return bool(self.session_gap_ms) or not isinstance(self.windows, Periodic)

    @property
    def pane_ms(self) -> int:
        """Length of its panes: part of a window, and where sessions are counted of a single session of a user."""
        return gcd(self.windows.pane_ms, self.session_gap_ms)

    @property
    def has_overlap(self) -> bool:
        """Whether an event may belong to several of its windows."""
        return isinstance(self.windows, Grid) and self.windows.slide_ms < self.windows.size_ms

    def closed_until(self, watermark: int | None) -> int:
        """Windows that end no later have closed: the watermark has come to their end plus the allowed lateness.

        What was closed stays closed, so a longer allowed lateness opens no window again.
        """
        frontier = rules.NO_WATERMARK if watermark is None else watermark
        return max(self.closed_before_ms, frontier - self.allowed_lateness_ms)

    def cutoff(self, watermark: int | None) -> int:
        """Events before this time are too late: every window they would belong to has closed."""
        return self.windows.earliest_after(self.closed_until(watermark))

    def whole_from(self, watermark: int | None) -> int:
        """Events from this time on are in time for every window of theirs; only where windows overlap is it another."""
        if watermark is None or not isinstance(self.windows, Grid):
            return self.cutoff(watermark)
        return self.windows.reached(self.closed_until(watermark))

    def too_late_at(self, time: int) -> int:
        """The watermark at which an event becomes too late: then the last window that it would belong to closes."""
        return self.windows.latest_end(time) + self.allowed_lateness_ms


def too_late_at(reports: Sequence[Report], time: int) -> int:
    """The watermark at which an event becomes too late for every report."""
    return max(report.too_late_at(time) for report in reports if not isinstance(report.windows, Totals))


def cutoffs(reports: Sequence[Report], watermark: int | None) -> tuple[int, int]:
    """Events before the first are too late for every window of every report, those before the second for some.

    Totals take what any other report takes.
    """
    others = [report for report in reports if not isinstance(report.windows, Totals)]
    return min(report.cutoff(watermark) for report in others), max(report.whole_from(watermark) for report in others)
