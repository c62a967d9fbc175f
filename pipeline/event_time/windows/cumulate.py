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
    def apart_ms(self) -> int:
        """By so much windows grow."""
        return self.step_ms

    @property
    def period_ms(self) -> int:
        """Windows begin anew where the longest ends."""
        return self.size_ms

    def begin(self, end: int) -> int:
        """Start of the window with this end."""
        return self.period_start(end - 1)
