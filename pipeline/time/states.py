"""What the windows of a report have come to, by their kind: which are open, and which batch makes which of them due.

Every state is immutable: a batch leads to what is due and to the next state.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Self

from pipeline.time import lateness, rules
from pipeline.time.report import Periodic, Report
from pipeline.time.windows import Due

Steps = tuple[tuple[int, int], ...]
"""(watermark, the first batch that reached it), in order."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What a batch did: counted events in `panes`, and moved the watermark; times in milliseconds."""

    batch: int
    panes: Collection[int]
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Published:
    """How far a report is published: up to a batch; and windows that end no later are closed and final."""

    batch: int = 0
    closed_until: int = rules.NO_WATERMARK


@dataclass(frozen=True, slots=True)
class PeriodicState:
    """Windows that are not closed, by their ends, and which batches moved the watermark over a window's end."""

    report: Report
    windows: Periodic
    open: frozenset[int] = frozenset()
    steps: Steps = ()

    @classmethod
    def restored(
        cls, report: Report, windows: Periodic, panes: Iterable[int], published: Published, steps: Steps
    ) -> Self:
        """From the tables: the starts of all panes with rows, and how far they are published."""
        known = frozenset(end for end in _ends(panes, windows) if not lateness.is_closed(end, published.closed_until))
        state = cls(report, windows, known)
        for watermark, batch in steps:
            state = replace(state, steps=state._noted(watermark, batch))
        return state

    def after_batch(self, moved: Moved) -> tuple[Due, Self]:
        """Of windows that overlap some may be closed while others still take a late event.

        An event changes also those windows near it in which a session may no longer begin.
        """
        closed_until = lateness.closed_until(self.report, moved.before)
        live = {end for end in _ends(moved.panes, self.windows) if not lateness.is_closed(end, closed_until)}
        live |= self.open.intersection(_ends(_followed(moved.panes, self.report), self.windows))
        state = replace(self, open=self.open | live, steps=self._noted(moved.after, moved.batch))
        fired = _fired(state.open, moved.after) - _fired(state.open, moved.before)
        return state.making_due(fired, _fired(live, moved.before), moved.after)

    def at_start(self, watermark: int, batch: int) -> tuple[Due, Self]:  # noqa: ARG002 - as other states are asked
        """What a start publishes again: every window that has fired and is not known to be closed and published."""
        return self.making_due(frozenset(), _fired(self.open, watermark), watermark)

    def making_due(self, fired: frozenset[int], again: frozenset[int], watermark: int) -> tuple[Due, Self]:
        """Some windows, and what the watermark closes."""
        closed_until = lateness.closed_until(self.report, watermark)
        closed = frozenset(end for end in self.open if lateness.is_closed(end, closed_until))
        fired_by = {end: self.steps[bisect_left(self.steps, (end, 0))][1] for end in fired | again}
        steps = self.steps[bisect_left(self.steps, (closed_until, 0)) :]
        due = Due(fired, again, closed, fired_by, closed_until=closed_until)
        return due, replace(self, open=self.open - closed, steps=steps)

    def _noted(self, watermark: int, batch: int) -> Steps:
        boundary = self.windows.pane_start(watermark)
        is_news = watermark != rules.NO_WATERMARK and (not self.steps or boundary > self.steps[-1][0])
        return (*self.steps, (boundary, batch)) if is_news else self.steps


@dataclass(frozen=True, slots=True)
class SessionState:
    """Sessions, of which the driver knows only how far the watermark has come."""

    report: Report
    final_until: int = rules.NO_WATERMARK
    """Sessions that end no later have been published as closed."""
    steps: Steps = ()

    def after_batch(self, moved: Moved) -> tuple[Due, Self]:
        """Due is what ended since and what may have changed."""
        if moved.after == rules.NO_WATERMARK or (moved.after == moved.before and not moved.panes):
            return Due(), self
        steps = self.steps if moved.after == moved.before else (*self.steps, (moved.after, moved.batch))
        return replace(self, steps=steps).making_due(moved.after)

    def at_start(self, watermark: int, batch: int) -> tuple[Due, Self]:  # noqa: ARG002 - as other states are asked
        """What a start publishes again: every session that has ended and is not known to be closed and published."""
        return (Due(), self) if watermark == rules.NO_WATERMARK else self.making_due(watermark)

    def making_due(self, watermark: int) -> tuple[Due, Self]:
        """What ends by a watermark and is not final."""
        closed_until = max(self.final_until, lateness.closed_until(self.report, watermark))
        due = Due(fired_by=dict(self.steps), span=(self.final_until, watermark), closed_until=closed_until)
        steps = self.steps[bisect_left(self.steps, (closed_until, 0)) :]
        return due, replace(self, final_until=closed_until, steps=steps)


@dataclass(frozen=True, slots=True)
class CountState:
    """Count windows, of which the driver knows only how far publication has come."""

    published: int = 0
    """The batch up to which full windows are published."""

    def after_batch(self, moved: Moved) -> tuple[Due, Self]:
        """Due is what became full, if events were counted."""
        if not moved.panes:
            return Due(), self
        return Due(span=(self.published, moved.batch)), replace(self, published=moved.batch)

    def at_start(self, watermark: int, batch: int) -> tuple[Due, Self]:  # noqa: ARG002 - as other states are asked
        """What a start publishes: windows that became full and were not."""
        return Due(span=(self.published, batch)), replace(self, published=batch)


@dataclass(frozen=True, slots=True)
class TotalState:
    """Totals, which are written anew when the watermark comes past a multiple of `every_ms`."""

    every_ms: int
    stale: bool = False
    """Whether events may have been counted since they were written."""

    def after_batch(self, moved: Moved) -> tuple[Due, Self]:
        """Due is all of it, where the watermark came past a multiple."""
        state = replace(self, stale=self.stale or bool(moved.panes))
        came = moved.after != rules.NO_WATERMARK and (
            moved.before == rules.NO_WATERMARK or moved.before // self.every_ms < moved.after // self.every_ms
        )
        return state.making_due(moved.after) if came else (Due(), state)

    def at_start(self, watermark: int, batch: int) -> tuple[Due, Self]:  # noqa: ARG002 - as other states are asked
        """What a start publishes again: all of it, if there was a publication."""
        return self.making_due(watermark)

    def making_due(self, watermark: int) -> tuple[Due, Self]:
        """All of it, where anything came since."""
        if watermark == rules.NO_WATERMARK or not self.stale:
            return Due(), self
        return Due(span=(rules.NO_WATERMARK, watermark)), replace(self, stale=False)


State = PeriodicState | SessionState | CountState | TotalState


def _fired(ends: Iterable[int], watermark: int) -> frozenset[int]:
    return frozenset(end for end in ends if lateness.has_fired(end, watermark))


def _ends(panes: Iterable[int], windows: Periodic) -> set[int]:
    return {end for pane in {windows.pane_start(pane) for pane in panes} for end in windows.ends(pane)}


def _followed(panes: Iterable[int], report: Report) -> set[int]:
    """Panes in which a session may no longer begin, now that there are events in `panes`."""
    if not report.session_gap_ms:
        return set()
    step, gap_ms = report.pane_ms, report.session_gap_ms
    return {after for pane in panes for after in range(pane + step, pane + gap_ms + 1, step)}
