"""Session windows: as long as a key's events follow one another within a gap, they are one session.

Source: Flink, "Session Windows": each event is a window `[time, time + gap)`, and windows that meet are one.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from pipeline.event_time import lateness, rules
from pipeline.event_time.firing import Moved, Published, SessionsDue, Steps, WatermarkStep
from pipeline.event_time.windows.base import State, Terms, Windows


@dataclass(frozen=True, slots=True)
class Sessions(Windows):
    """Sessions that end when `gap_ms` passed without an event."""

    gap_ms: int

    is_timed: ClassVar[bool] = True

    @property
    def pane_ms(self) -> int:
        """Events of a key in a stretch of this length are always one session."""
        return self.gap_ms

    @property
    def event_ms(self) -> int:
        """An event is judged by its own part of a session."""
        return self.gap_ms

    def of(self, time: int) -> Iterator[tuple[int, int]]:
        """The event's own part of a session."""
        yield time, self.latest_end(time)

    def latest_end(self, time: int) -> int:
        """End of the session that an event alone would be."""
        return time + self.gap_ms

    def reached(self, watermark: int) -> int:
        """The latest end that a watermark has reached: a session may end at any time."""
        return watermark

    def earliest_after(self, horizon: int) -> int:
        """The earliest time whose own window ends after `horizon`."""
        return horizon - self.gap_ms + 1

    def state(self, terms: Terms, panes: Iterable[int], published: Published, steps: Steps) -> "SessionState":  # noqa: ARG002 - as other kinds are asked
        """The state from the tables: sessions not published as closed may still change."""
        return SessionState(terms, published.closed_until, steps)


@dataclass(frozen=True, slots=True)
class SessionState(State[SessionsDue]):
    """Sessions, of which the driver knows only how far the watermark has come."""

    terms: Terms
    final_until: int = rules.NO_WATERMARK
    """Sessions that end no later have been published as closed."""
    steps: Steps = ()

    def after_batch(self, moved: Moved) -> tuple[SessionsDue, Self]:
        """Due is what ended since and what may have changed."""
        if moved.after == moved.before and not moved.panes:
            return SessionsDue(), self
        steps = self.steps if moved.after == moved.before else (*self.steps, WatermarkStep(moved.after, moved.batch))
        return replace(self, steps=steps).at_start(moved.after, moved.batch)

    def at_start(self, watermark: int, batch: int) -> tuple[SessionsDue, Self]:  # noqa: ARG002 - as other states are asked
        """The sessions that a start publishes again: all that have ended, less those that are final."""
        if watermark == rules.NO_WATERMARK:
            return SessionsDue(), self
        closed_until = max(self.final_until, lateness.closed_until(self.terms, watermark))
        firing = SessionsDue(self.final_until, watermark, self.steps, closed_until)
        steps = self.steps[bisect_left(self.steps, (closed_until, 0)) :]
        return firing, replace(self, final_until=closed_until, steps=steps)
