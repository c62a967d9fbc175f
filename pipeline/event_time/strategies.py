"""Strategies that move the watermark of a partition, a class each.

Source: Flink, "Generating Watermarks" (bounded out-of-orderness, punctuated, and by a time lag).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final


class Strategy(ABC):
    """A way to move a partition's watermark. All times are milliseconds."""

    __slots__ = ()

    kind: ClassVar[str]
    """Its name in the settings."""
    by_clock: ClassVar[bool] = False
    """Whether the clock alone moves it, with data or without."""

    @property
    def marker(self) -> str:
        """The SQL condition for an event to move it; empty if every event does."""
        return ""

    @property
    @abstractmethod
    def idle_lag_ms(self) -> int:
        """How far behind the clock it is where the clock moves it because every partition is idle."""

    @abstractmethod
    def watermark(self, max_event_time: int | None, now: int) -> int | None:
        """Where a partition alone would have it; None before there is anything that tells.

        `max_event_time` is the highest of the events that may move it.
        """


@dataclass(frozen=True, slots=True)
class Bounded(Strategy):
    """Every event moves it: the highest event time minus the bound."""

    bound_ms: int

    kind: ClassVar[str] = "bounded"

    @property
    def idle_lag_ms(self) -> int:
        """The bound."""
        return self.bound_ms

    def watermark(self, max_event_time: int | None, now: int) -> int | None:  # noqa: ARG002 - no clock moves it
        """None before the first event."""
        return None if max_event_time is None else max_event_time - self.bound_ms


@dataclass(frozen=True, slots=True)
class Punctuated(Strategy):
    """A marker moves it: the highest event time of a marker."""

    marker: str
    idle_lag_ms: int = 0

    kind: ClassVar[str] = "punctuated"

    def watermark(self, max_event_time: int | None, now: int) -> int | None:  # noqa: ARG002 - no clock moves it
        """None before the first marker."""
        return max_event_time


@dataclass(frozen=True, slots=True)
class TimeLag(Strategy):
    """The clock moves it: now minus a lag."""

    lag_ms: int

    kind: ClassVar[str] = "time_lag"
    by_clock: ClassVar[bool] = True

    @property
    def idle_lag_ms(self) -> int:
        """The lag."""
        return self.lag_ms

    def watermark(self, max_event_time: int | None, now: int) -> int:  # noqa: ARG002 - no event moves it
        """Always there."""
        return now - self.lag_ms


STRATEGIES: Final[Mapping[str, type[Strategy]]] = {one.kind: one for one in (Bounded, Punctuated, TimeLag)}
