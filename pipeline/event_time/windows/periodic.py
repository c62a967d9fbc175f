"""Windows whose ends follow from the clock: which windows are open, and which windows a batch makes due."""

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Self

from tidemark.pipeline.event_time import lateness, rules
from tidemark.pipeline.event_time.firing import CountedBatch, PublicationState, Steps, WatermarkStep, WindowsDue
from tidemark.pipeline.event_time.windows.base import State, Terms, Window, Windows

DAY_MS: Final = 86_400_000
_MINUTE_MS: Final = 60_000
_SECOND_MS: Final = 1000


class Periodic(Windows):
    """Windows whose ends follow from the clock. All times are milliseconds since 1970."""

    __slots__ = ()

    ends_are_known: ClassVar[bool] = True

    @property
    def precision(self) -> str:
        """The smallest unit of its bounds."""
        lengths = (self.pane_ms, self.shift_ms)
        if all(length % _MINUTE_MS == 0 for length in lengths):
            return "minutes"
        return "seconds" if all(length % _SECOND_MS == 0 for length in lengths) else "milliseconds"

    @abstractmethod
    def ends(self, pane_start: int) -> range:
        """Returns the ends of all windows that contain the pane, the latest first.

        >>> from tidemark.pipeline.event_time.windows.grid import Grid
        >>> [*Grid(size_ms=60_000, slide_ms=20_000).ends(pane_start=40_000)]
        [100000, 80000, 60000]
        """

    @abstractmethod
    def begin(self, end: int) -> int:
        """Returns the start of the window that ends at `end`."""

    def pane_start(self, time: int) -> int:
        """Returns the start of the pane that contains `time`."""
        return time - (time + self.shift_ms) % self.pane_ms

    def of(self, time: int) -> Iterator[Window]:
        """Yields each window that contains `time`."""
        for end in self.ends(self.pane_start(time)):
            yield Window(self.begin(end), end)

    def whole_after(self, horizon: int) -> int:
        """Returns the last end of a window at or before `horizon`: all windows of later times end after it."""
        return self.reached(horizon)

    def state(self, terms: Terms, panes: Iterable[int], published: PublicationState, steps: Steps) -> "PeriodicState":
        """Returns the state: the windows of `panes` that were not published as closed are open."""
        open_ends = frozenset(end for end in _ends(panes, self) if not lateness.is_closed(end, published.closed_until))
        state = PeriodicState(terms, self, open_ends)
        for watermark, batch in steps:
            state = replace(state, steps=state.with_step(watermark, batch))
        return state


@dataclass(frozen=True, slots=True)
class PeriodicState(State[WindowsDue]):
    """The ends of windows that are not closed, and the batches that moved the watermark past the start of a pane."""

    terms: Terms
    windows: Periodic
    open: frozenset[int] = frozenset()
    steps: Steps = ()

    @property
    def open_windows(self) -> int:
        """Count of windows that are not closed."""
        return len(self.open)

    def unfired_windows(self, watermark: int) -> int:
        """Returns the count of windows with events that have not fired."""
        return len(self.open) - len(_fired(self.open, watermark))

    def after_batch(self, moved: CountedBatch) -> tuple[WindowsDue, Self]:
        """Makes windows due that the watermark reached, and fired windows that changed.

        If windows overlap, a late event may change some of its windows after others have closed. With measures of
        sessions an event also changes later windows, in which a session may no longer start.
        """
        closed_until = lateness.closed_until(self.terms, moved.before)
        changed = {end for end in _ends(moved.panes, self.windows) if not lateness.is_closed(end, closed_until)}
        changed |= self.open.intersection(_ends(self._followed(moved.panes), self.windows))
        state = replace(self, open=self.open | changed, steps=self.with_step(moved.after, moved.batch))
        fired = _fired(state.open, moved.after) - _fired(state.open, moved.before)
        return state.making_due(fired, _fired(changed, moved.before), moved.after)

    def at_start(self, watermark: int, batch: int) -> tuple[WindowsDue, Self]:  # noqa: ARG002 - the signature of `State`
        """Makes all windows due that have fired and are not final."""
        return self.making_due(frozenset(), _fired(self.open, watermark), watermark)

    def making_due(self, fired: frozenset[int], refired: frozenset[int], watermark: int) -> tuple[WindowsDue, Self]:
        """Makes windows due, by their ends, and the windows that the watermark closes."""
        closed_until = lateness.closed_until(self.terms, watermark)
        closed = frozenset(end for end in self.open if lateness.is_closed(end, closed_until))
        fired_by = {end: self.steps[bisect_left(self.steps, (end, 0))].batch for end in fired | refired}
        steps = self.steps[bisect_left(self.steps, (closed_until, 0)) :]
        firing = WindowsDue(fired=fired, refired=refired, closed=closed, fired_by=fired_by, closed_until=closed_until)
        return firing, replace(self, open=self.open - closed, steps=steps)

    def with_step(self, watermark: int, batch: int) -> Steps:
        """Returns the steps with another step, if the watermark moved past the start of a pane."""
        boundary = self.windows.pane_start(watermark)
        has_moved = watermark != rules.NO_WATERMARK and (not self.steps or boundary > self.steps[-1].watermark)
        return (*self.steps, WatermarkStep(boundary, batch)) if has_moved else self.steps

    def _followed(self, panes: Iterable[int]) -> set[int]:
        """Returns the panes in which a session may no longer start, because `panes` have events."""
        step, gap_ms = self.windows.pane_ms, self.terms.session_gap_ms
        if not gap_ms:
            return set()
        return {later for pane in panes for later in (*range(pane, pane + gap_ms, step), pane + gap_ms)}


def _fired(ends: Iterable[int], watermark: int) -> frozenset[int]:
    return frozenset(end for end in ends if lateness.has_fired(end, watermark))


def _ends(panes: Iterable[int], windows: Periodic) -> set[int]:
    return {end for pane in {windows.pane_start(pane) for pane in panes} for end in windows.ends(pane)}
