"""Windows that repeat in every period. Periods start at multiples of their length plus an offset."""

from abc import abstractmethod
from datetime import UTC, tzinfo
from math import gcd

from tidemark.pipeline.event_time.windows.periodic import DAY_MS, Periodic


class Aligned(Periodic):
    """Windows whose bounds are plain arithmetic. All times are milliseconds since 1970."""

    __slots__ = ()

    size_ms: int
    """Length of the longest window."""
    offset_ms: int
    """Shift of the periods in milliseconds."""

    @property
    @abstractmethod
    def apart_ms(self) -> int:
        """Time from the end of one window to the next."""

    @property
    def period_ms(self) -> int:
        """Length of a period. Its start belongs to every window that overlaps the period."""
        return self.apart_ms

    @property
    def pane_ms(self) -> int:
        """Length of a pane: the longest that divides every window."""
        return gcd(self.size_ms, self.apart_ms)

    @property
    def shift_ms(self) -> int:
        """Milliseconds that are added to times so that panes start at multiples of their length."""
        return -self.offset_ms % self.pane_ms

    @property
    def overlap(self) -> int:
        """The largest number of windows to which an event may belong."""
        return -(-self.size_ms // self.apart_ms)

    @property
    def time_zone(self) -> tzinfo | None:
        """UTC if its windows are whole days in UTC."""
        return UTC if self.pane_ms % DAY_MS == self.shift_ms % DAY_MS == 0 else None

    def period_start(self, time: int) -> int:
        """Returns the start of the period that contains `time`."""
        return time - (time - self.offset_ms) % self.period_ms

    def ends(self, pane_start: int) -> range:
        """Returns the ends of all windows that contain the pane, the latest first."""
        return range(self.latest_end(pane_start), pane_start, -self.apart_ms)

    def latest_end(self, time: int) -> int:
        """Returns the end of the last window that contains `time`."""
        return self.period_start(time) + self.size_ms

    def earliest_after(self, horizon: int) -> int:
        """Returns the start of the first window that ends after `horizon`."""
        return self.begin(self.ends(self.pane_start(horizon))[-1])

    def reached(self, watermark: int) -> int:
        """Returns the latest end of a window at or before `watermark`."""
        return watermark - (watermark - self.offset_ms - self.size_ms) % self.apart_ms
