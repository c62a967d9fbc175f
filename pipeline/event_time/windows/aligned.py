"""Windows that lie alike in every period, which begins at a multiple of its length plus an offset."""

from abc import abstractmethod
from math import gcd

from pipeline.event_time.windows.periodic import Periodic


class Aligned(Periodic):
    """Windows whose bounds are plain arithmetic. All times are milliseconds since the epoch."""

    __slots__ = ()

    size_ms: int
    """Length of the longest window."""
    offset_ms: int
    """How far periods are shifted against the epoch."""

    @property
    @abstractmethod
    def apart_ms(self) -> int:
        """Time from the end of one window to the next."""

    @property
    def period_ms(self) -> int:
        """Length of a period, whose begin belongs to every window that any time of it belongs to."""
        return self.apart_ms

    @property
    def pane_ms(self) -> int:
        """Length of a pane: the longest of which every window is made."""
        return gcd(self.size_ms, self.apart_ms)

    @property
    def shift_ms(self) -> int:
        """Milliseconds added to a time so that panes begin at multiples of their length."""
        return -self.offset_ms % self.pane_ms

    @property
    def has_overlap(self) -> bool:
        """Whether an event may belong to several windows."""
        return self.apart_ms < self.size_ms

    def period_start(self, time: int) -> int:
        """Start of the period that a time falls into."""
        return time - (time - self.offset_ms) % self.period_ms

    def ends(self, pane_start: int) -> range:
        """Ends of all windows that a pane is part of, the last one first."""
        return range(self.latest_end(pane_start), pane_start, -self.apart_ms)

    def latest_end(self, time: int) -> int:
        """End of the last window that a time belongs to."""
        return self.period_start(time) + self.size_ms

    def earliest_after(self, horizon: int) -> int:
        """The earliest time of which some window ends after `horizon`: the begin of the first that does."""
        return self.begin(self.ends(self.pane_start(horizon))[-1])

    def reached(self, watermark: int) -> int:
        """The latest end of a window that a watermark has reached."""
        return watermark - (watermark - self.offset_ms - self.size_ms) % self.apart_ms
