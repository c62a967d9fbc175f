"""Count windows: a fixed number of events of a key, in the order of their batches, partitions and offsets.

Source: Flink, "Count Windows" (`countWindow`). They do not depend on time, so no event is late for them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from tidemark.command_line.counts import counted
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.firing import CountedBatch, CountsDue, PublicationState, Steps
from tidemark.pipeline.event_time.windows.base import State, Terms, Window, Windows


class CountWindows(Windows):
    """Windows that end with an event of their key, and are published then; they never change."""

    __slots__ = ()

    pane_ms: ClassVar[int] = 0
    by_time: ClassVar[bool] = False
    is_timed: ClassVar[bool] = True
    keeps_events: ClassVar[bool] = True

    def of(self, time: int) -> Iterator[Window]:  # noqa: ARG002 - the signature of `Windows`
        """Yields nothing, because windows do not depend on time."""
        yield from ()

    def latest_end(self, time: int) -> int:  # noqa: ARG002 - the signature of `Windows`
        """Returns `NEVER`, because no watermark closes a window."""
        return rules.NEVER

    def earliest_after(self, horizon: int) -> int:  # noqa: ARG002 - the signature of `Windows`
        """Returns `NO_WATERMARK`, because no event is too late."""
        return rules.NO_WATERMARK

    def reached(self, watermark: int) -> int:  # noqa: ARG002 - the signature of `Windows`
        """Returns `NO_WATERMARK`, because no watermark ends a window."""
        return rules.NO_WATERMARK

    def state(self, terms: Terms, panes: Iterable[int], published: PublicationState, steps: Steps) -> "CountState":  # noqa: ARG002 - the signature of `Windows`
        """Returns the state: windows are published up to a batch."""
        return CountState(published.batch)


@dataclass(frozen=True, slots=True)
class Counts(CountWindows):
    """Windows of `size` events each, one after the other."""

    size: int

    kind: ClassVar[str] = "counts"
    overlap: ClassVar[int] = 1

    def describe(self) -> str:
        """Returns such as "windows of 1,000 events"."""
        return f"windows of {counted(self.size, 'event')}"


@dataclass(frozen=True, slots=True)
class SlidingCounts(CountWindows):
    """Windows of the last `size` events of a key, after every `slide` events; the first windows have fewer.

    `slide` is less than `size`.
    """

    size: int
    slide: int

    kind: ClassVar[str] = "sliding_counts"

    @property
    def overlap(self) -> int:
        """The largest number of windows to which an event may belong."""
        return -(-self.size // self.slide)

    def describe(self) -> str:
        """Returns such as "windows of the last 5 events, after each event"."""
        fires = "each event" if self.slide == 1 else f"every {counted(self.slide, 'event')}"
        return f"windows of the last {counted(self.size, 'event')}, after {fires}"


@dataclass(frozen=True, slots=True)
class CountState(State[CountsDue]):
    """State of count windows: the last published batch only. The windows are computed from `panes` at publication."""

    published: int = 0
    """The batch up to which windows are published."""

    def after_batch(self, moved: CountedBatch) -> tuple[CountsDue, Self]:
        """Makes windows that an event ended due, if events were counted."""
        return self.at_start(moved.after, moved.batch) if moved.panes else (CountsDue(), self)

    def at_start(self, watermark: int, batch: int) -> tuple[CountsDue, Self]:  # noqa: ARG002 - the signature of `State`
        """Makes windows that ended since the last publication due."""
        return CountsDue(after_batch=self.published), replace(self, published=batch)
