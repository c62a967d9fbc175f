"""A grid of windows: tumbling, sliding or shifted.

Source: Li et al., "No Pane, No Gain" (2005): overlapping windows share the sums of their panes, so an event is
counted once for all windows that contain it.
"""

from dataclasses import dataclass
from typing import ClassVar

from tidemark.command_line.counts import span_of
from tidemark.pipeline.event_time.windows.aligned import Aligned
from tidemark.pipeline.event_time.windows.periodic import DAY_MS


@dataclass(frozen=True, slots=True)
class Grid(Aligned):
    """Windows of `size_ms`, one every `slide_ms`, shifted by `offset_ms`; tumbling if size and slide are equal.

    All times are milliseconds since 1970.
    """

    size_ms: int
    slide_ms: int
    offset_ms: int = 0

    kind: ClassVar[str] = "grid"

    @property
    def apart_ms(self) -> int:
        """Time from the start of one window to the start of the next."""
        return self.slide_ms

    def describe(self) -> str:
        """Returns such as "windows of 1 h, one every 15 min"."""
        if self == Grid(DAY_MS, DAY_MS):
            return "days in the time zone UTC"
        every = "" if self.slide_ms == self.size_ms else f", one every {span_of(self.slide_ms)}"
        return f"windows of {span_of(self.size_ms)}{every}"

    def begin(self, end: int) -> int:
        """Returns the start of the window that ends at `end`."""
        return end - self.size_ms
