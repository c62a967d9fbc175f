"""A report: which events it takes, by which keys, in which windows, and how late they may be."""

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
