"""Windows whose ends the clock alone tells: which of them are open, and which batch makes which of them due."""

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from pipeline.event_time import lateness, rules
from pipeline.event_time.firing import Moved, Published, Steps, WatermarkStep, WindowsDue
from pipeline.event_time.windows.base import State, Terms, Windows


class Periodic(Windows):
    """Windows whose ends the clock alone tells. All times are milliseconds since the epoch."""

    __slots__ = ()

    ends_are_known: ClassVar[bool] = True

    @abstractmethod
    def ends(self, pane_start: int) -> range:
        """Ends of all windows that a pane is part of, the last one first."""

    @abstractmethod
    def begin(self, end: int) -> int:
        """Start of the window with this end."""

    def pane_start(self, time: int) -> int:
        """Start of the pane that a time falls into."""
        return time - (time + self.shift_ms) % self.pane_ms

    def of(self, time: int) -> Iterator[tuple[int, int]]:
        """Start and end of each window that a time belongs to."""
        for end in self.ends(self.pane_start(time)):
            yield self.begin(end), end

    def whole_after(self, horizon: int) -> int:
        """The earliest time of which every window ends after `horizon`: the end of the last that does not."""
        return self.reached(horizon)

    def state(self, terms: Terms, panes: Iterable[int], published: Published, steps: Steps) -> "PeriodicState":
        """From the tables: the starts of all panes with rows, and how far they are published."""
        known = frozenset(end for end in _ends(panes, self) if not lateness.is_closed(end, published.closed_until))
        state = PeriodicState(terms, self, known)
        for watermark, batch in steps:
            state = replace(state, steps=state.noted(watermark, batch))
        return state


@dataclass(frozen=True, slots=True)
class PeriodicState(State[WindowsDue]):
    """Windows that are not closed, by their ends, and which batches moved the watermark over a window's end."""

    terms: Terms
    windows: Periodic
    open: frozenset[int] = frozenset()
    steps: Steps = ()

    @property
    def open_windows(self) -> int:
        """How many are not closed."""
        return len(self.open)

    def after_batch(self, moved: Moved) -> tuple[WindowsDue, Self]:
        """Of windows that overlap some may be closed while others still take a late event.

        An event changes also those windows near it in which a session may no longer begin.
        """
        closed_until = lateness.closed_until(self.terms, moved.before)
        live = {end for end in _ends(moved.panes, self.windows) if not lateness.is_closed(end, closed_until)}
        live |= self.open.intersection(_ends(self._followed(moved.panes), self.windows))
        state = replace(self, open=self.open | live, steps=self.noted(moved.after, moved.batch))
        fired = _fired(state.open, moved.after) - _fired(state.open, moved.before)
        return state.making_due(fired, _fired(live, moved.before), moved.after)

    def at_start(self, watermark: int, batch: int) -> tuple[WindowsDue, Self]:  # noqa: ARG002 - as other states are asked
        """The windows that a start publishes again: all that have fired, less those that are final."""
        return self.making_due(frozenset(), _fired(self.open, watermark), watermark)

    def making_due(self, fired: frozenset[int], refired: frozenset[int], watermark: int) -> tuple[WindowsDue, Self]:
        """Some windows, and what the watermark closes."""
        closed_until = lateness.closed_until(self.terms, watermark)
        closed = frozenset(end for end in self.open if lateness.is_closed(end, closed_until))
        fired_by = {end: self.steps[bisect_left(self.steps, (end, 0))].batch for end in fired | refired}
        steps = self.steps[bisect_left(self.steps, (closed_until, 0)) :]
        firing = WindowsDue(fired, refired, closed, fired_by, closed_until)
        return firing, replace(self, open=self.open - closed, steps=steps)

    def noted(self, watermark: int, batch: int) -> Steps:
        """The steps with one more, if it moved the watermark over a pane's start."""
        boundary = self.windows.pane_start(watermark)
        is_news = watermark != rules.NO_WATERMARK and (not self.steps or boundary > self.steps[-1].watermark)
        return (*self.steps, WatermarkStep(boundary, batch)) if is_news else self.steps

    def _followed(self, panes: Iterable[int]) -> set[int]:
        """Panes in which a session may no longer begin, now that there are events in `panes`."""
        step, gap_ms = self.windows.pane_ms, self.terms.session_gap_ms
        if not gap_ms:
            return set()
        return {after for pane in panes for after in (*range(pane, pane + gap_ms, step), pane + gap_ms)}


def _fired(ends: Iterable[int], watermark: int) -> frozenset[int]:
    return frozenset(end for end in ends if lateness.has_fired(end, watermark))


def _ends(panes: Iterable[int], windows: Periodic) -> set[int]:
    return {end for pane in {windows.pane_start(pane) for pane in panes} for end in windows.ends(pane)}
