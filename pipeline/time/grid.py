"""The grid of windows and the panes they are made of: tumbling, sliding, shifted.

Source: Li et al., "No Pane, No Gain" (2005): windows that overlap share the sums of their panes, so an event is counted
once, however many windows it belongs to.
"""

from dataclasses import dataclass
from math import gcd
from typing import Any

from pipeline.time import rules


@dataclass(frozen=True, slots=True)
class Grid:
    """Windows of `size_ms`, one every `slide_ms` from `offset_ms` on; tumbling where the two are equal.

    Methods that take a time do so as an integer or as a column, in milliseconds since the epoch.
    """

    size_ms: int
    slide_ms: int
    offset_ms: int = 0

    @property
    def pane_ms(self) -> int:
        """Length of a pane: the longest of which every window is made."""
        return gcd(self.size_ms, self.slide_ms)

    @property
    def shift_ms(self) -> int:
        """What is added to a time so that panes begin at multiples of their length."""
        return -self.offset_ms % self.pane_ms

    def pane_start(self, time: Any) -> Any:
        """Start of the pane that a time falls into."""
        return rules.pane_start(time, self.pane_ms, self.shift_ms)

    def last_end(self, time: Any) -> Any:
        """End of the last window that a time belongs to."""
        return rules.pane_start(time, self.slide_ms, -self.offset_ms % self.slide_ms) + self.size_ms

    def ends(self, pane_start: int) -> range:
        """Ends of all windows that a pane is part of."""
        last: int = self.last_end(pane_start)
        return range(last, pane_start, -self.slide_ms)

    def panes(self, end: int) -> range:
        """Starts of all panes of the window with this end."""
        return range(end - self.size_ms, end, self.pane_ms)
