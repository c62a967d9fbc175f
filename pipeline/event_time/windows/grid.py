"""The grid of windows and the panes they are made of: tumbling, sliding, shifted.

Source: Li et al., "No Pane, No Gain" (2005): windows that overlap share the sums of their panes, so an event is counted
once, however many windows it belongs to.
"""

from dataclasses import dataclass
from math import gcd

from pipeline.event_time.windows.aligned import Aligned


@dataclass(frozen=True, slots=True)
class Grid(Aligned):
    """Windows of `size_ms`, one every `slide_ms` from `offset_ms` on; tumbling where the two are equal.

    All times are milliseconds since the epoch.
    """

    size_ms: int
    slide_ms: int
    offset_ms: int = 0

    @property
    def pane_ms(self) -> int:
        """Length of a pane: the longest of which every window is made."""
        return gcd(self.size_ms, self.slide_ms)

    @property
    def period_ms(self) -> int:
        """Time from one window to the next."""
        return self.slide_ms

    @property
    def has_overlap(self) -> bool:
        """Whether windows slide by less than their size."""
        return self.slide_ms < self.size_ms

    def ends(self, pane_start: int) -> range:
        """Ends of all windows that a pane is part of, the last one first."""
        return range(self.period_start(pane_start) + self.size_ms, pane_start, -self.slide_ms)

    def begin(self, end: int) -> int:
        """Start of the window with this end."""
        return end - self.size_ms

    def latest_end(self, time: int) -> int:
        """End of the last window that a time belongs to."""
        return self.period_start(time) + self.size_ms

    def whole_after(self, horizon: int) -> int:
        """The earliest time of which every window ends after `horizon`."""
        return self.reached(horizon)

    def reached(self, watermark: int) -> int:
        """The latest end of a window that a watermark has reached."""
        return self.period_start(watermark - self.size_ms) + self.size_ms

    def earliest_after(self, horizon: int) -> int:
        """The earliest time of which some window ends after `horizon`."""
        return self.period_start(horizon - self.size_ms) + self.slide_ms
