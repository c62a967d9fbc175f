"""Count windows: every so many events of a key, in the order of their batches, partitions and offsets.

Source: Flink, "Count Windows" (`countWindow`): they know no time, so no event is late for them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from pipeline.event_time import rules
from pipeline.event_time.firing import CountsDue, Moved, Published, Steps
from pipeline.event_time.windows.base import State, Terms, Windows


@dataclass(frozen=True, slots=True)
class Counts(Windows):
    """Windows of `size` events each; one that is not full yet is not shown."""

    size: int

    pane_ms: ClassVar[int] = 0
    by_time: ClassVar[bool] = False
    is_timed: ClassVar[bool] = True
    keeps_events: ClassVar[bool] = True

    def of(self, time: int) -> Iterator[tuple[int, int]]:  # noqa: ARG002 - as other kinds are asked
        """No time tells a window."""
        yield from ()

    def latest_end(self, time: int) -> int:  # noqa: ARG002 - as other kinds are asked
        """No watermark closes a window."""
        return rules.NEVER

    def earliest_after(self, horizon: int) -> int:  # noqa: ARG002 - as other kinds are asked
        """No event is too late."""
        return rules.NO_WATERMARK

    def reached(self, watermark: int) -> int:  # noqa: ARG002 - as other kinds are asked
        """No watermark ends a window."""
        return rules.NO_WATERMARK

    def state(self, terms: Terms, panes: Iterable[int], published: Published, steps: Steps) -> "CountState":  # noqa: ARG002 - as other kinds are asked
        """Full windows are published up to a batch."""
        return CountState(published.batch)


@dataclass(frozen=True, slots=True)
class CountState(State[CountsDue]):
    """Count windows, of which the driver knows only how far publication has come."""

    published: int = 0
    """The batch up to which full windows are published."""

    def after_batch(self, moved: Moved) -> tuple[CountsDue, Self]:
        """Due is what became full, if events were counted."""
        return self.at_start(moved.after, moved.batch) if moved.panes else (CountsDue(), self)

    def at_start(self, watermark: int, batch: int) -> tuple[CountsDue, Self]:  # noqa: ARG002 - as other states are asked
        """The windows that a start publishes: those that became full since the last publication."""
        return CountsDue(self.published), replace(self, published=batch)
