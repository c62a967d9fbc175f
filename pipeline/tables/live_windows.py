"""Of each kind of windows: the SQL, any engine's, by which panes tell of the windows that are open."""

from typing import Final

from pipeline.errors import SetUpError
from pipeline.time import lateness
from pipeline.time.calendar import Calendar
from pipeline.time.counts import Counts
from pipeline.time.grid import Grid
from pipeline.time.lateness import Sql
from pipeline.time.report import Report
from pipeline.time.sessions import Sessions

_GRID: Final = """windowed AS (
  SELECT parts.*, {last} - back.n * {slide_ms} AS start_ms, {last} - back.n * {slide_ms} + {size_ms} AS end_ms
  FROM parts CROSS JOIN (VALUES {backs}) AS back (n)
)"""
_CALENDAR: Final = """windowed AS (
  SELECT parts.*, window_start_ms AS start_ms, window_end_ms AS end_ms FROM parts
)"""
# In order of time: `reach` is the end of all parts before this one. A part joined what ended at its `first_time` or
# later, for these meet, and had not closed when it came. So a session begins where neither this
# part nor one after it joined what is before. (All that came after a session had closed lies after its last event.)
_SESSIONS: Final = """placed AS (
  SELECT parts.*, max(last_time) OVER ({in_order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) + {gap_ms} AS reach,
    min(greatest(first_time - 1, closed_until)) OVER (
      {in_order} ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
    ) AS joins_after
  FROM parts
), numbered AS (
  SELECT placed.*,
    sum(CASE WHEN reach > joins_after THEN 0 ELSE 1 END) OVER ({in_order} ROWS UNBOUNDED PRECEDING) AS number
  FROM placed
), windowed AS (
  SELECT numbered.*, min(first_time) OVER ({session}) AS start_ms, max(last_time) OVER ({session}) + {gap_ms} AS end_ms
  FROM numbered
)"""
# The number of a window is that of its first event, for engines divide in different ways.
_COUNTS: Final = """numbered AS (
  SELECT parts.*, row_number() OVER ({by} ORDER BY batch, place) - 1 AS place_of_key FROM parts
), windowed AS (
  SELECT numbered.*, min(first_time) OVER ({window}) AS start_ms, max(last_time) OVER ({window}) + 1 AS end_ms,
    count(*) OVER ({window}) AS events
  FROM numbered
)"""

_IS_OPEN: Final = str(~lateness.has_fired(Sql("end_ms"), Sql("frontier")))


def placed(report: Report) -> tuple[str, str]:
    """SQL after `WITH parts AS (…),`: `windowed`, the parts with `start_ms` and `end_ms` of each of their windows.

    And the condition for such a window to be open, where `frontier` is the watermark. Raises SetUpError for totals.
    """
    windows = report.windows
    if isinstance(windows, Grid):
        return _grid(windows), f"end_ms > pane_start AND {_IS_OPEN}"
    if isinstance(windows, Calendar):
        return _CALENDAR, _IS_OPEN
    if isinstance(windows, Sessions):
        return _sessions(report, windows), _IS_OPEN
    if isinstance(windows, Counts):
        return _counts(report, windows), f"events < {windows.size}"
    raise SetUpError(f"report {report.name} has no windows that could be open: its table has all there is to see")


def _grid(grid: Grid) -> str:
    last = f"pane_start - (pane_start - {grid.offset_ms}) % {grid.slide_ms}"
    backs = ", ".join(f"({number})" for number in range(-(-grid.size_ms // grid.slide_ms)))
    return _GRID.format(last=last, slide_ms=grid.slide_ms, size_ms=grid.size_ms, backs=backs)


def _sessions(report: Report, sessions: Sessions) -> str:
    return _SESSIONS.format(
        in_order=f"{_partition(*report.keys)} ORDER BY first_time, last_time, closed_until",
        session=_partition(*report.keys, "number"),
        gap_ms=sessions.gap_ms,
    )


def _counts(report: Report, counts: Counts) -> str:
    first = f"place_of_key - place_of_key % {counts.size}"
    return _COUNTS.format(by=_partition(*report.keys), window=_partition(*report.keys, first))


def _partition(*by: str) -> str:
    return f"PARTITION BY {', '.join(by)}" if by else ""
