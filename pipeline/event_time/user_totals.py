"""Totals of each user over all time, with the number of sessions: the other reader of panes in addition to reports."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.firing import CountedBatch, TotalsDue
from tidemark.pipeline.event_time.windows.base import State
from tidemark.pipeline.measures import COUNTS, TIMES, Part


@dataclass(frozen=True, slots=True)
class UserTotals:
    """The definition of `user_totals`.

    A session ends after `gap_ms` without an event. A publication is due every `every_ms` of event time. There are no
    windows, so nothing closes: an event that any report counts is counted.
    """

    gap_ms: int
    every_ms: int

    name: ClassVar[str] = "user_totals"
    where: ClassVar[str] = ""
    fold_keys: ClassVar[tuple[str, ...]] = ("user_id",)
    pane_keys: ClassVar[tuple[str, ...]] = ("user_id",)
    keys: ClassVar[tuple[str, ...]] = ("user_id",)
    typed_keys_sql: ClassVar[str] = ""
    parts: ClassVar[tuple[Part, ...]] = (*COUNTS, *TIMES)
    keeps_events: ClassVar[bool] = False
    folds_events: ClassVar[bool] = False
    event_ms: ClassVar[int | None] = None
    shift_ms: ClassVar[int] = 0
    allowed_lateness_ms: ClassVar[int] = rules.NEVER
    closed_before_ms: ClassVar[int] = rules.NO_WATERMARK

    @property
    def pane_ms(self) -> int:
        """Length of its panes: all events of a user within one pane are one session."""
        return self.gap_ms

    def stored(self, key: str) -> str:
        """Returns the column of `panes` with a key, which has the name of the key."""
        return key

    def earliest_after(self, horizon: int) -> int:  # noqa: ARG002 - the signature of `Report`
        """Returns `NO_WATERMARK`, because no event is too late."""
        return rules.NO_WATERMARK


@dataclass(frozen=True, slots=True)
class TotalsState(State[TotalsDue]):
    """Totals are due when the watermark passes a multiple of `every_ms` and events were counted since."""

    every_ms: int
    stale: bool = True
    """Whether events may have been counted since the totals were published; assumed at a start."""

    def after_batch(self, moved: CountedBatch) -> tuple[TotalsDue, Self]:
        """Makes the totals due if the watermark passed a multiple of `every_ms`."""
        state = replace(self, stale=self.stale or bool(moved.panes))
        has_passed = moved.before // self.every_ms < moved.after // self.every_ms
        return state.at_start(moved.after, moved.batch) if has_passed else (TotalsDue(), state)

    def at_start(self, watermark: int, batch: int) -> tuple[TotalsDue, Self]:  # noqa: ARG002 - the signature of `State`
        """Makes the totals due if there is a watermark and events may have been counted since."""
        if watermark == rules.NO_WATERMARK or not self.stale:
            return TotalsDue(), self
        return TotalsDue(is_due=True), replace(self, stale=False)
