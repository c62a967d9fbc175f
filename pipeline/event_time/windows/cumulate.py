"""Cumulative windows: they share a start and grow by a step up to a size; then the next period starts.

Source: Flink SQL, "Windowing table-valued functions" (`CUMULATE`).
"""

from dataclasses import dataclass
from typing import ClassVar

from tidemark.command_line.counts import span_of
from tidemark.pipeline.event_time.windows.aligned import Aligned


@dataclass(frozen=True, slots=True)
class Cumulate(Aligned):
    """Windows of one, two, three times `step_ms`, up to `size_ms`, from each multiple of `size_ms` plus `offset_ms`.

    The size is a multiple of the step. All times are milliseconds since 1970.
    """

    size_ms: int
    step_ms: int
    offset_ms: int = 0

    kind: ClassVar[str] = "cumulate"

    @property
    def apart_ms(self) -> int:
        """The step by which windows grow."""
        return self.step_ms

    @property
    def period_ms(self) -> int:
        """Length of the longest window."""
        return self.size_ms

    def describe(self) -> str:
        """Returns such as "windows that grow by 1 h up to 1 d"."""
        return f"windows that grow by {span_of(self.step_ms)} up to {span_of(self.size_ms)}"

    def begin(self, end: int) -> int:
        """Returns the start of the window that ends at `end`."""
        return self.period_start(end - 1)
