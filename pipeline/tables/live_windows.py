"""Of each kind of windows: the SQL, any engine's, by which panes tell of the windows that are open."""

from typing import Final

from pipeline.errors import SetUpError
from pipeline.tables.session_results import numbered
from pipeline.time.calendar import Calendar
from pipeline.time.counts import Counts
from pipeline.time.grid import Grid
from pipeline.time.report import Report
from pipeline.time.sessions import Sessions

_GRID: Final = """windowed AS (
  SELECT parts.*, {last} - back.n * {slide_ms} AS start_ms, {last} - back.n * {slide_ms} + {size_ms} AS end_ms
  FROM parts CROSS JOIN (VALUES {backs}) AS back (n)
)"""
_CALENDAR: Final = """windowed AS (
  SELECT parts.*, window_start_ms AS start_ms, window_end_ms AS end_ms FROM parts
)"""
_SESSIONS: Final = """{numbered}, windowed AS (
  SELECT numbered.*, min(first_time) OVER ({session}) AS start_ms, max(last_time) OVER ({session}) + {gap_ms} AS end_ms
  FROM numbered
)"""
# The number of a window is that of its first event, for engines divide in different ways.
_COUNTS: Final = """numbered AS (
  SELECT parts.*, row_number() OVER ({by}ORDER BY batch, place) - 1 AS place_of_key FROM parts
), windowed AS (
  SELECT numbered.*, min(first_time) OVER ({window}) AS start_ms, max(last_time) OVER ({window}) + 1 AS end_ms,
    count(*) OVER ({window}) AS events
  FROM numbered
)"""


def placed(report: Report) -> tuple[str, str]:
    """SQL after `WITH parts AS (…),`: `windowed`, the parts with `start_ms` and `end_ms` of each of their windows.

    And the condition for such a window to be open, where `frontier` is the watermark. Raises SetUpError for totals.
    """
    windows = report.windows
    if isinstance(windows, Grid):
        return _grid(windows), "end_ms > pane_start AND end_ms > frontier"
    if isinstance(windows, Calendar):
        return _CALENDAR, "end_ms > frontier"
    keys = "".join(f"{key}, " for key in report.keys)
    if isinstance(windows, Sessions):
        session = f"PARTITION BY {keys}number"
        told = _SESSIONS.format(numbered=numbered(report, windows).strip(), session=session, gap_ms=windows.gap_ms)
        return told, "end_ms > frontier"
    if isinstance(windows, Counts):
        by = f"PARTITION BY {keys[:-2]} " if keys else ""
        window = f"PARTITION BY {keys}place_of_key - place_of_key % {windows.size}"
        return _COUNTS.format(by=by, window=window), f"events < {windows.size}"
    raise SetUpError(f"report {report.name} has no windows that could be open: its table has all there is to see")


def _grid(grid: Grid) -> str:
    last = f"pane_start - (pane_start - {grid.offset_ms}) % {grid.slide_ms}"
    backs = ", ".join(f"({number})" for number in range(-(-grid.size_ms // grid.slide_ms)))
    return _GRID.format(last=last, slide_ms=grid.slide_ms, size_ms=grid.size_ms, backs=backs)
