"""A report: which events it takes, by which keys, in which windows, and how late they may be."""

from dataclasses import dataclass
from math import gcd

from pipeline.time import rules
from pipeline.time.windows.base import Windows


@dataclass(frozen=True, slots=True)
class Report:
    """A result table over the stream. Times in milliseconds."""

    name: str
    windows: Windows
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
        return bool(self.session_gap_ms) or self.windows.is_timed

    @property
    def pane_ms(self) -> int:
        """Length of its panes: part of a window, and where sessions are counted of a single session of a user."""
        return gcd(self.windows.pane_ms, self.session_gap_ms)

    @property
    def shift_ms(self) -> int:
        """What is added to a time so that its panes begin at multiples of their length."""
        return self.windows.shift_ms

    @property
    def by_event(self) -> bool:
        """Whether every event is a row of its panes by itself."""
        return self.windows.by_event

    @property
    def event_ms(self) -> int | None:
        """Length of the window that an event alone is, where events and not panes are judged by it."""
        return self.windows.event_ms

    def earliest_after(self, horizon: int) -> int:
        """The earliest time of which some window ends after `horizon`."""
        return self.windows.earliest_after(horizon)
