"""The interface of each kind of windows, and of its state: what can be answered without tables."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from datetime import tzinfo
from typing import ClassVar, Generic, NamedTuple, Self

from tidemark.pipeline.event_time.firing import CountedBatch, Firing, FiringT_co, PublicationState, Steps


class Window(NamedTuple):
    """A half-open window `[start, end)` in milliseconds since 1970."""

    start: int
    end: int


class Terms:
    """The terms of a report that the state of its windows depends on. Times and durations are milliseconds."""

    __slots__ = ()

    allowed_lateness_ms: int
    closed_before_ms: int
    """Windows that end at or before this time were closed before the epoch began, whatever the settings are now."""
    session_gap_ms: int
    """For measures of sessions: a session of a user ends after this time without an event; 0 without such measures."""


class State(ABC, Generic[FiringT_co]):
    """The immutable state of a report's windows. A batch leads to what is due and to the next state."""

    __slots__ = ()

    @property
    def open_windows(self) -> int | None:
        """Count of windows with events that are not closed; None if only the tables contain them."""
        return None

    def unfired_windows(self, watermark: int) -> int:  # noqa: ARG002 - used by states that contain their windows
        """Returns the count of windows with events that have not fired; 0 if only the tables contain them."""
        return 0

    @abstractmethod
    def after_batch(self, moved: CountedBatch) -> tuple[FiringT_co, Self]:
        """Returns what a batch makes due, and the state after it."""

    @abstractmethod
    def at_start(self, watermark: int, batch: int) -> tuple[FiringT_co, Self]:
        """Returns what a start with this batch id publishes again, and the state after it."""


class Windows(ABC):
    """A kind of windows. All times are milliseconds since 1970."""

    __slots__ = ()

    kind: ClassVar[str]
    """Its name in the stored definitions of tables."""
    by_time: ClassVar[bool] = True
    """Whether a watermark ends its windows, so that events can be too late."""
    ends_are_known: ClassVar[bool] = False
    """Whether the ends follow from the clock alone, so that the state contains each window."""
    is_timed: ClassVar[bool] = False
    """Whether its panes contain the first and the last time of their events."""
    keeps_events: ClassVar[bool] = False
    """Whether each event has its own row in `panes`, with its record position."""
    panes_store_bounds: ClassVar[bool] = False
    """Whether panes contain the bounds of their window, because readers cannot compute them."""

    @property
    @abstractmethod
    def pane_ms(self) -> int:
        """Length of the panes that windows consist of; 0 for windows that end by count."""

    @property
    def shift_ms(self) -> int:
        """Milliseconds that are added to times so that panes start at multiples of their length."""
        return 0

    @property
    def event_ms(self) -> int | None:
        """Length of an event's own window if lateness is judged by event; None if it is judged by pane."""
        return None

    @property
    @abstractmethod
    def overlap(self) -> int:
        """The largest number of windows to which an event may belong."""

    @property
    def has_overlap(self) -> bool:
        """Whether an event may belong to several windows."""
        return self.overlap > 1

    @property
    def time_zone(self) -> tzinfo | None:
        """The zone in whose days its windows start; None if the windows follow no day."""
        return None

    @property
    def precision(self) -> str:
        """The smallest unit of its bounds: `minutes`, `seconds` or `milliseconds`."""
        return "seconds"

    @abstractmethod
    def describe(self) -> str:
        """Returns a plural noun with the lengths, such as "windows of 1 min"."""

    @abstractmethod
    def of(self, time: int) -> Iterator[Window]:
        """Yields each window to which an event belongs by its time alone."""

    @abstractmethod
    def latest_end(self, time: int) -> int:
        """Returns the end of the last window that contains `time`."""

    @abstractmethod
    def earliest_after(self, horizon: int) -> int:
        """Returns the earliest time with a window that ends after `horizon`."""

    def whole_after(self, horizon: int) -> int:
        """Returns the earliest time whose windows all end after `horizon`."""
        return self.earliest_after(horizon)

    @abstractmethod
    def reached(self, watermark: int) -> int:
        """Returns the latest end of a window at or before `watermark`."""

    @abstractmethod
    def state(self, terms: Terms, panes: Iterable[int], published: PublicationState, steps: Steps) -> State[Firing]:
        """Returns the state from the tables: starts of panes, what is published, and watermark steps."""
