"""The questions that every kind of windows answers without tables."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import ClassVar, Generic, Self

from pipeline.event_time.firing import Firing, FiringT_co, Moved, Published, Steps


class Terms:
    """The terms of a report that the state of its windows goes by. Times in milliseconds."""

    __slots__ = ()

    allowed_lateness_ms: int
    closed_before_ms: int
    """Windows that end no later were closed before the epoch began, whatever the settings say now."""
    session_gap_ms: int
    """For measures of sessions: a user's events that follow one another within it are one session."""


class State(ABC, Generic[FiringT_co]):
    """The state of a report's windows. It is immutable: a batch leads to the windows due and the next state."""

    __slots__ = ()

    @property
    def open_windows(self) -> int | None:
        """How many have events and are not closed; None where only the tables know."""
        return None

    @abstractmethod
    def after_batch(self, moved: Moved) -> tuple[FiringT_co, Self]:
        """The windows that a batch makes due, and the state after it."""

    @abstractmethod
    def at_start(self, watermark: int, batch: int) -> tuple[FiringT_co, Self]:
        """The windows that a start with this batch id publishes again, and the state after it."""


class Windows(ABC):
    """A kind of windows. All times are milliseconds since the epoch."""

    __slots__ = ()

    by_time: ClassVar[bool] = True
    """Whether a watermark ends its windows, so that an event can be too late for them."""
    ends_are_known: ClassVar[bool] = False
    """Whether the clock alone tells their ends, so that the driver knows each window."""
    is_timed: ClassVar[bool] = False
    """Whether its panes keep the first and the last time of their events."""
    keeps_events: ClassVar[bool] = False
    """Whether every event is a row of `panes` by itself, with its record position."""
    panes_store_bounds: ClassVar[bool] = False
    """Whether a pane is told the bounds of its window, because a reader could not compute them."""

    @property
    @abstractmethod
    def pane_ms(self) -> int:
        """Length of a pane, of which every window is made; 0 where events are kept until their window is full."""

    @property
    def shift_ms(self) -> int:
        """Milliseconds added to a time so that panes begin at multiples of their length."""
        return 0

    @property
    def event_ms(self) -> int | None:
        """Length of the window that an event alone is, where events and not panes are judged by it."""
        return None

    @property
    def has_overlap(self) -> bool:
        """Whether an event may belong to several windows."""
        return False

    @abstractmethod
    def of(self, time: int) -> Iterator[tuple[int, int]]:
        """Start and end of each window to which an event belongs by its time alone."""

    @abstractmethod
    def latest_end(self, time: int) -> int:
        """End of the last window that a time belongs to."""

    @abstractmethod
    def earliest_after(self, horizon: int) -> int:
        """The earliest time of which some window ends after `horizon`."""

    def whole_after(self, horizon: int) -> int:
        """The earliest time of which every window ends after `horizon`."""
        return self.earliest_after(horizon)

    @abstractmethod
    def reached(self, watermark: int) -> int:
        """The latest end of a window that a watermark has reached."""

    @abstractmethod
    def state(self, terms: Terms, panes: Iterable[int], published: Published, steps: Steps) -> State[Firing]:
        """The state of a report's windows, of the starts of its panes, how far it is published, and its watermarks."""
