"""Session windows: events of a key that follow one another within a gap are one session.

Source: Flink, "Session Windows": each event is a window `[time, time + gap)`, and windows that meet are one.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from tidemark.command_line.counts import span_of
from tidemark.pipeline.event_time import lateness, rules
from tidemark.pipeline.event_time.firing import CountedBatch, PublicationState, SessionsDue, Steps, WatermarkStep
from tidemark.pipeline.event_time.windows.base import State, Terms, Window, Windows


@dataclass(frozen=True, slots=True)
class Sessions(Windows):
    """Sessions that end after `gap_ms` without an event."""

    gap_ms: int

    kind: ClassVar[str] = "sessions"
    is_timed: ClassVar[bool] = True
    overlap: ClassVar[int] = 1

    @property
    def pane_ms(self) -> int:
        """The gap: all events of a key within one pane are one session."""
        return self.gap_ms

    @property
    def event_ms(self) -> int:
        """The gap: an event is judged by its own window, `[time, time + gap)`."""
        return self.gap_ms

    def describe(self) -> str:
        """Returns such as "sessions, which end after 30 min without an event"."""
        return f"sessions, which end after {span_of(self.gap_ms)} without an event"

    def of(self, time: int) -> Iterator[Window]:
        """Yields the event's own window."""
        yield Window(time, self.latest_end(time))

    def latest_end(self, time: int) -> int:
        """Returns the end of the session of an event without neighbours."""
        return time + self.gap_ms

    def reached(self, watermark: int) -> int:
        """Returns the watermark, because a session may end at any time."""
        return watermark

    def earliest_after(self, horizon: int) -> int:
        """Returns the earliest time whose own window ends after `horizon`."""
        return horizon - self.gap_ms + 1

    def state(self, terms: Terms, panes: Iterable[int], published: PublicationState, steps: Steps) -> "SessionState":  # noqa: ARG002 - the signature of `Windows`
        """Returns the state: sessions that were not published as closed may still change."""
        return SessionState(terms, published.closed_until, steps)


@dataclass(frozen=True, slots=True)
class SessionState(State[SessionsDue]):
    """State of sessions: the watermark only. The sessions are computed from `panes` at publication."""

    terms: Terms
    final_until: int = rules.NO_WATERMARK
    """Sessions that end at or before this time were published as closed."""
    steps: Steps = ()

    def after_batch(self, moved: CountedBatch) -> tuple[SessionsDue, Self]:
        """Makes sessions due that ended since the last batch or may have changed."""
        if moved.after == moved.before and not moved.panes:
            return SessionsDue(), self
        steps = self.steps if moved.after == moved.before else (*self.steps, WatermarkStep(moved.after, moved.batch))
        return replace(self, steps=steps).at_start(moved.after, moved.batch)

    def at_start(self, watermark: int, batch: int) -> tuple[SessionsDue, Self]:  # noqa: ARG002 - the signature of `State`
        """Makes all sessions due that have ended and are not final."""
        if watermark == rules.NO_WATERMARK:
            return SessionsDue(), self
        closed_until = max(self.final_until, lateness.closed_until(self.terms, watermark))
        firing = SessionsDue(after=self.final_until, until=watermark, steps=self.steps, closed_until=closed_until)
        steps = self.steps[bisect_left(self.steps, (closed_until, 0)) :]
        return firing, replace(self, final_until=closed_until, steps=steps)
