"""Strategies that move the watermark of a partition, one class each.

Source: Flink, "Generating Watermarks" (bounded out-of-orderness, punctuated, and by a time lag).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final


class Strategy(ABC):
    """A strategy that moves a partition's watermark. All times are milliseconds since 1970."""

    __slots__ = ()

    kind: ClassVar[str]
    """The strategy's name in the settings."""
    by_clock: ClassVar[bool] = False
    """Whether the clock alone moves the watermark, with data or without."""

    @property
    def marker(self) -> str:
        """SQL condition: the event may move the watermark. Empty if each event may."""
        return ""

    @property
    @abstractmethod
    def delay_ms(self) -> int:
        """How far the watermark trails what moves it: events, or the clock, also while all partitions are idle."""

    @property
    def event_delay_ms(self) -> int:
        """How far the watermark trails the highest time of the events that may move it."""
        return self.delay_ms

    @abstractmethod
    def watermark(self, max_event_time: int | None, now: int) -> int | None:
        """Returns the watermark of a partition; None if nothing has moved it yet.

        `max_event_time` is the highest time of the events that may move it, `now` the service's clock.
        """


@dataclass(frozen=True, slots=True)
class Bounded(Strategy):
    """The watermark is the highest event time minus a bound."""

    bound_ms: int

    kind: ClassVar[str] = "bounded"

    @property
    def delay_ms(self) -> int:
        """Equal to the bound."""
        return self.bound_ms

    def watermark(self, max_event_time: int | None, now: int) -> int | None:  # noqa: ARG002 - no clock moves it
        """Returns None before the first event."""
        return None if max_event_time is None else max_event_time - self.bound_ms


@dataclass(frozen=True, slots=True)
class Punctuated(Strategy):
    """The watermark is the highest event time of a marker."""

    marker: str
    delay_ms: int = 0

    kind: ClassVar[str] = "punctuated"

    @property
    def event_delay_ms(self) -> int:
        """A marker says that no older event follows."""
        return 0

    def watermark(self, max_event_time: int | None, now: int) -> int | None:  # noqa: ARG002 - no clock moves it
        """Returns None before the first marker."""
        return max_event_time


@dataclass(frozen=True, slots=True)
class TimeLag(Strategy):
    """The watermark is the clock minus a lag."""

    lag_ms: int

    kind: ClassVar[str] = "time_lag"
    by_clock: ClassVar[bool] = True

    @property
    def delay_ms(self) -> int:
        """Equal to the lag."""
        return self.lag_ms

    def watermark(self, max_event_time: int | None, now: int) -> int:  # noqa: ARG002 - no event moves it
        """Returns the clock minus the lag; never None."""
        return now - self.lag_ms


STRATEGIES: Final[Mapping[str, type[Strategy]]] = {
    strategy.kind: strategy for strategy in (Bounded, Punctuated, TimeLag)
}
