"""The grid of windows and the panes they are made of: tumbling, sliding, shifted.

Source: Li et al., "No Pane, No Gain" (2005): windows that overlap share the sums of their panes, so an event is counted
once, however many windows it belongs to.
"""

from dataclasses import dataclass

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
    def apart_ms(self) -> int:
        """Time from one window to the next."""
        return self.slide_ms

    def begin(self, end: int) -> int:
        """Start of the window with this end."""
        return end - self.size_ms
