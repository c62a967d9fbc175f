"""Limits of windows. The arithmetic works beyond them, but no service could keep up."""

from datetime import timedelta
from typing import Annotated, Final

from pydantic import AfterValidator

from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.settings.durations import PositiveDuration, write_milliseconds

_LONGEST: Final = timedelta(days=366)
_MOST_PANES: Final = 40_000
"""A statement lists the panes of a window; for this many it takes half a second."""
_MOST_WINDOWS: Final = 4_096
"""An event belongs to at most this many windows, and a late event publishes each of them again."""


def _not_too_long(length: timedelta) -> timedelta:
    if length > _LONGEST:
        raise ValueError(f"must be at most {_LONGEST.days}d")
    return length


WindowLength = Annotated[PositiveDuration, AfterValidator(_not_too_long)]


def check_windows(report: Report) -> None:
    """Raises ValueError if a window of the report has too many panes, or an event too many windows."""
    windows = report.windows
    if windows.ends_are_known:
        _check_panes(report)
    if windows.overlap > _MOST_WINDOWS:
        raise ValueError(
            f"an event of report {report.name} would belong to {windows.overlap} windows, and may belong to "
            f"{_MOST_WINDOWS}: choose a longer slide or step"
        )


def _check_panes(report: Report) -> None:
    first = next(report.windows.of(0))
    panes = (first.end - first.start + report.session_gap_ms) // report.pane_ms
    if panes > _MOST_PANES:
        raise ValueError(
            f"a window of report {report.name} would consist of {panes} panes of {write_milliseconds(report.pane_ms)}, "
            f"and may consist of {_MOST_PANES}: choose size, slide and session_gap with a longer common divisor"
        )
