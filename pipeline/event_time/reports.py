"""A report: which events it takes, by which keys, in which windows, and how late they may be."""

from dataclasses import dataclass
from math import gcd

from pipeline.event_time import rules
from pipeline.event_time.windows.base import Terms, Windows
from pipeline.measures import COUNTS, MEASURES, TIMES, Join, Measure, Part


@dataclass(frozen=True, slots=True)
class Report(Terms):
    """A result table over the stream. Times in milliseconds."""

    name: str
    windows: Windows
    allowed_lateness_ms: int
    keys: tuple[str, ...] = ("user_id",)
    """Of `user_id`, `page_url` and `event_type`; none for one row per window."""
    where: str = ""
    """SQL over an event's fields; only events for which it holds belong to the report."""
    measures: tuple[str, ...] = ("page_views", "clicks")
    """Names of `MEASURES`: what its table tells."""
    session_gap_ms: int = 0
    closed_before_ms: int = rules.NO_WATERMARK

    @property
    def chosen_measures(self) -> tuple[Measure, ...]:
        """Its measures."""
        return tuple(MEASURES[name] for name in self.measures)

    @property
    def sums(self) -> list[str]:
        """Those that may be added up over rows."""
        return [one.name for one in self.chosen_measures if one.adds_up]

    @property
    def fold_keys(self) -> tuple[str, ...]:
        """By what a batch is added up for it: the keys, and what a measure needs beside them."""
        return tuple(sorted({*self.keys, *(one.by for one in self.chosen_measures if one.by)}))

    @property
    def pane_keys(self) -> tuple[str, ...]:
        """By what its panes are kept: the keys, and the user where sessions are told of."""
        users = (one.by for one in self.chosen_measures if one.of_sessions)
        return tuple(sorted({*self.keys, *users}))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The columns that its panes keep beside their keys; no sketch of a key."""
        times = TIMES if self.windows.is_timed else ()
        wanted = dict.fromkeys([*COUNTS, *times, *(part for one in self.chosen_measures for part in one.parts)])
        return tuple(part for part in wanted if part.join is not Join.SKETCH or part.fold not in self.pane_keys)

    @property
    def pane_ms(self) -> int:
        """Length of its panes: part of a window, and where sessions are counted of a single session of a user."""
        return gcd(self.windows.pane_ms, self.session_gap_ms)

    @property
    def shift_ms(self) -> int:
        """Milliseconds added to a time so that its panes begin at multiples of their length."""
        return self.windows.shift_ms

    @property
    def keeps_events(self) -> bool:
        """Whether every event is a row of its panes by itself."""
        return self.windows.keeps_events

    @property
    def event_ms(self) -> int | None:
        """Length of the window that an event alone is, where events and not panes are judged by it."""
        return self.windows.event_ms

    def earliest_after(self, horizon: int) -> int:
        """The earliest time of which some window ends after `horizon`."""
        return self.windows.earliest_after(horizon)
