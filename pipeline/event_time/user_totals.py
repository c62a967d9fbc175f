"""Totals of each user over all time, with the number of its sessions: a second consumer of panes beside the reports."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from pipeline.event_time import rules
from pipeline.event_time.firing import Moved, TotalsDue
from pipeline.event_time.windows.base import State
from pipeline.measures import COUNTS, TIMES, Part


@dataclass(frozen=True, slots=True)
class UserTotals:
    """Sessions end after `gap_ms` without an event; `every_ms` of event time pass from one publication to the next.

    It has no windows, so nothing closes and nothing is too late for it: it takes what any report takes.
    """

    gap_ms: int
    every_ms: int

    name: ClassVar[str] = "user_totals"
    where: ClassVar[str] = ""
    fold_keys: ClassVar[tuple[str, ...]] = ("user_id",)
    pane_keys: ClassVar[tuple[str, ...]] = ("user_id",)
    parts: ClassVar[tuple[Part, ...]] = (*COUNTS, *TIMES)
    keeps_events: ClassVar[bool] = False
    event_ms: ClassVar[int | None] = None
    shift_ms: ClassVar[int] = 0
    allowed_lateness_ms: ClassVar[int] = rules.NEVER
    closed_before_ms: ClassVar[int] = rules.NO_WATERMARK

    @property
    def pane_ms(self) -> int:
        """Length of its panes: events of a user in a stretch of this length are always one session."""
        return self.gap_ms

    def earliest_after(self, horizon: int) -> int:  # noqa: ARG002 - as reports are asked
        """No event is too late."""
        return rules.NO_WATERMARK


@dataclass(frozen=True, slots=True)
class TotalsState(State[TotalsDue]):
    """Totals are written anew when the watermark comes past a multiple of `every_ms`."""

    every_ms: int
    stale: bool = True
    """Whether events may have been counted since they were written; a start does not know."""

    def after_batch(self, moved: Moved) -> tuple[TotalsDue, Self]:
        """Due is all of it, where the watermark came past a multiple."""
        state = replace(self, stale=self.stale or bool(moved.panes))
        came = moved.before // self.every_ms < moved.after // self.every_ms
        return state.at_start(moved.after, moved.batch) if came else (TotalsDue(), state)

    def at_start(self, watermark: int, batch: int) -> tuple[TotalsDue, Self]:  # noqa: ARG002 - as other states are asked
        """All of it, once there is a watermark, where anything may have come since."""
        if watermark == rules.NO_WATERMARK or not self.stale:
            return TotalsDue(), self
        return TotalsDue(is_due=True), replace(self, stale=False)
