"""Windows that lie alike in every period, which begins at a multiple of its length plus an offset."""

from abc import abstractmethod

from pipeline.event_time.windows.periodic import Periodic


class Aligned(Periodic):
    """Windows whose bounds are plain arithmetic. All times are milliseconds since the epoch."""

    __slots__ = ()

    @property
    @abstractmethod
    def offset_ms(self) -> int:
        """How far periods are shifted against the epoch."""

    @property
    @abstractmethod
    def period_ms(self) -> int:
        """Length of a period, whose begin belongs to every window that any time of it belongs to."""

    @property
    def shift_ms(self) -> int:
        """Milliseconds added to a time so that panes begin at multiples of their length."""
        return -self.offset_ms % self.pane_ms

    def pane_start(self, time: int) -> int:
        """Start of the pane that a time falls into."""
        return time - (time + self.shift_ms) % self.pane_ms

    def period_start(self, time: int) -> int:
        """Start of the period that a time falls into."""
        return time - (time - self.offset_ms) % self.period_ms
