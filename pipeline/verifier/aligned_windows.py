"""Windows whose bounds are plain arithmetic, as the verifier has them: it does not go by the code that it verifies."""

from dataclasses import dataclass
from typing import Final

from pipeline.event_time.windows.base import Windows
from pipeline.event_time.windows.cumulate import Cumulate
from pipeline.event_time.windows.grid import Grid

# Which windows each pane is looked at for: those it is part of, and where sessions are counted those after it, too.
_PLACES: Final = """
places AS (
  SELECT pane, newest - back.n * {period} AS start_ms, newest - back.n * {period} + length.n AS end_ms
  FROM (
    SELECT pane, pane + {gap} - ((pane + {gap} - {offset}) % {period} + {period}) % {period} AS newest FROM spots
  ) AS latest CROSS JOIN (SELECT unnest(range(0, {backs})) AS n) AS back
  CROSS JOIN (SELECT unnest(range({shortest}, {beyond}, {step})) AS n) AS length
  WHERE newest - back.n * {period} + length.n > pane
)
"""


@dataclass(frozen=True, slots=True)
class AlignedWindows:
    """A window of each length begins at every multiple of a period plus an offset. All in milliseconds."""

    period_ms: int
    offset_ms: int
    lengths_ms: range

    def misfit(self) -> str:
        """SQL: that what has `start_ms` and `end_ms` is none of them."""
        length, known = "(end_ms - start_ms)", self.lengths_ms
        return (
            f"(start_ms - {self.offset_ms}) % {self.period_ms} <> 0 OR {length} NOT BETWEEN {known[0]} AND {known[-1]} "
            f"OR ({length} - {known[0]}) % {known.step} <> 0"
        )

    def places(self, gap_ms: int) -> str:
        """CTE `places`: each `pane` of `spots` with its windows, and with those that begin a gap after it at most."""
        longest = self.lengths_ms[-1]
        return _PLACES.format(
            period=self.period_ms,
            offset=self.offset_ms,
            gap=gap_ms,
            backs=-(-(longest + gap_ms) // self.period_ms) + 1,
            shortest=self.lengths_ms[0],
            beyond=longest + 1,
            step=self.lengths_ms.step,
        )

    def end(self, time: str) -> str:
        """SQL: the end of the last window that a time belongs to."""
        period = self.period_ms
        return f"{time} - (({time} - {self.offset_ms}) % {period} + {period}) % {period} + {self.lengths_ms[-1]}"


def aligned(windows: Windows) -> AlignedWindows | None:
    """Where windows of a kind lie; None of those that do not lie so."""
    if isinstance(windows, Grid):
        return AlignedWindows(windows.slide_ms, windows.offset_ms, range(windows.size_ms, windows.size_ms + 1))
    if isinstance(windows, Cumulate):
        step_ms, size_ms = windows.step_ms, windows.size_ms
        return AlignedWindows(size_ms, windows.offset_ms, range(step_ms, size_ms + 1, step_ms))
    return None
