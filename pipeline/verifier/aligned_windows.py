"""The bounds of grid and cumulating windows, by arithmetic of the verifier's own."""

from dataclasses import dataclass
from typing import Final, assert_never

from tidemark.pipeline.event_time.windows.calendar import Calendar
from tidemark.pipeline.event_time.windows.count import Counts, SlidingCounts
from tidemark.pipeline.event_time.windows.cumulate import Cumulate
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.event_time.windows.kinds import AnyWindows
from tidemark.pipeline.event_time.windows.session import Sessions

# The windows of each pane, and where sessions are counted also the windows that start up to a gap after it.
_WINDOWS_OF_PANES_SQL: Final = """
windows_of_panes AS (
  SELECT pane, newest - back.n * {period} AS start_ms, newest - back.n * {period} + length.n AS end_ms
  FROM (
    SELECT pane, pane + {gap} - ((pane + {gap} - {offset}) % {period} + {period}) % {period} AS newest
    FROM distinct_panes
  ) AS latest CROSS JOIN range({backs}) AS back (n)
  CROSS JOIN range({shortest}, {beyond}, {step}) AS length (n)
  WHERE newest - back.n * {period} + length.n > pane
)
"""


@dataclass(frozen=True, slots=True)
class AlignedWindows:
    """A window of each length starts at every multiple of a period plus an offset. All in milliseconds."""

    period_ms: int
    offset_ms: int
    lengths_ms: range

    def misfit_sql(self) -> str:
        """SQL condition: `[start_ms, end_ms)` is not one of these windows."""
        length, lengths = "(end_ms - start_ms)", self.lengths_ms
        return (
            f"(start_ms - {self.offset_ms}) % {self.period_ms} <> 0 "
            f"OR {length} NOT BETWEEN {lengths[0]} AND {lengths[-1]} OR ({length} - {lengths[0]}) % {lengths.step} <> 0"
        )

    def windows_of_panes_sql(self, gap_ms: int) -> str:
        """CTE: each `pane` of `distinct_panes` with its windows, and with those that start up to `gap_ms` after it."""
        longest = self.lengths_ms[-1]
        return _WINDOWS_OF_PANES_SQL.format(
            period=self.period_ms,
            offset=self.offset_ms,
            gap=gap_ms,
            backs=-(-(longest + gap_ms) // self.period_ms) + 1,
            shortest=self.lengths_ms[0],
            beyond=longest + 1,
            step=self.lengths_ms.step,
        )

    def end_sql(self, time: str) -> str:
        """SQL: the end of the last window to which the expression `time`, in milliseconds, belongs."""
        period = self.period_ms
        return f"{time} - (({time} - {self.offset_ms}) % {period} + {period}) % {period} + {self.lengths_ms[-1]}"


def aligned(windows: AnyWindows) -> AlignedWindows | None:
    """Returns the period and lengths of a report's windows, None if they are not aligned."""
    match windows:
        case Grid(size_ms, slide_ms, offset_ms):
            return AlignedWindows(slide_ms, offset_ms, range(size_ms, size_ms + 1))
        case Cumulate(size_ms, step_ms, offset_ms):
            return AlignedWindows(size_ms, offset_ms, range(step_ms, size_ms + 1, step_ms))
        case Calendar() | Counts() | Sessions() | SlidingCounts():
            return None
        case _:
            assert_never(windows)
