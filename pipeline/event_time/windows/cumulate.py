"""Cumulative windows: from the same begin they grow by a step up to a size, and then begin anew.

Source: Flink SQL, "Windowing table-valued functions" (`CUMULATE`).
"""

from dataclasses import dataclass

from pipeline.event_time.windows.aligned import Aligned


@dataclass(frozen=True, slots=True)
class Cumulate(Aligned):
    """Windows of `step_ms`, of twice as much and so on up to `size_ms`, from each multiple of `size_ms` on.

    The size is a multiple of the step. All times are milliseconds since the epoch.
    """

    size_ms: int
    step_ms: int
    offset_ms: int = 0

    @property
    def pane_ms(self) -> int:
        """Length of a pane: by so much windows grow."""
        return self.step_ms

    @property
    def period_ms(self) -> int:
        """Time from one begin to the next."""
        return self.size_ms

    @property
    def has_overlap(self) -> bool:
        """Whether windows grow in more than one step."""
        return self.step_ms < self.size_ms

    def ends(self, pane_start: int) -> range:
        """Ends of all windows that a pane is part of, the last one first."""
        return range(self.latest_end(pane_start), pane_start, -self.step_ms)

    def begin(self, end: int) -> int:
        """Start of the window with this end."""
        return self.period_start(end - 1)

    def latest_end(self, time: int) -> int:
        """End of the longest window that a time belongs to."""
        return self.period_start(time) + self.size_ms

    def whole_after(self, horizon: int) -> int:
        """The earliest time of which every window ends after `horizon`."""
        return self.pane_start(horizon)

    def reached(self, watermark: int) -> int:
        """The latest end of a window that a watermark has reached."""
        return self.pane_start(watermark)

    def earliest_after(self, horizon: int) -> int:
        """The earliest time of which some window ends after `horizon`."""
        return self.period_start(horizon)
