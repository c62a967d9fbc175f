"""The picture of the watermark: positions on an axis of event time, in percent of its width. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tidemark.pipeline.event_time import lateness
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.periodic import Periodic
from tidemark.pipeline.reading.ledger_summary import LedgerSummary
from tidemark.pipeline.web.pages.time_axis import Axis
from tidemark.pipeline.web.pages.watermark_lanes import Lane, LaneState

_LANES: Final = 12
"""Number of drawn partitions; those with the lowest watermarks."""
_BOXES: Final = 60
"""Maximum number of drawn windows."""
_FAR: Final = 4
"""The clock is off the axis if its distance is more than this multiple of the spread of partitions."""
_LEAST_MS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Box:
    """A window; of overlapping windows the part that the window before does not cover."""

    end: int
    left: float
    right: float
    state: str
    """open, fired or closed."""


@dataclass(frozen=True, slots=True)
class Picture:
    """The data of the picture."""

    axis: Axis
    lanes: tuple[Lane, ...]
    hidden: int
    """Partitions that are not drawn."""
    boxes: tuple[Box, ...]
    watermark: int | None
    now: int
    clock_is_far: bool
    next_end: int | None
    """End of the next window that fires; None if unknown."""


def picture_of(summary: LedgerSummary, lanes: Sequence[Lane], report: Report | None, now: int) -> Picture | None:
    """Returns the picture at the time `now`, in ms; None before the first event."""
    heads = [lane.head for lane in lanes if lane.head is not None]
    if not heads:
        return None
    windows = report.windows if report is not None and isinstance(report.windows, Periodic) else None
    axis, clock_is_far = _axis(summary, lanes, max(heads), now)
    drawn = sorted(lanes, key=lambda lane: (lane.watermark is not None, lane.watermark or 0, lane.partition))[:_LANES]
    return Picture(
        axis=axis,
        lanes=tuple(sorted(drawn, key=lambda lane: lane.partition)),
        hidden=len(lanes) - len(drawn),
        boxes=tuple(_boxes(axis, report, windows, summary.watermark)) if report and windows else (),
        watermark=summary.watermark,
        now=now,
        clock_is_far=clock_is_far,
        next_end=_next_end(windows, summary.watermark) if windows else None,
    )


def _axis(summary: LedgerSummary, lanes: Sequence[Lane], newest: int, now: int) -> tuple[Axis, bool]:
    """Returns the axis, from before the watermark to the clock, and whether the clock is off the axis."""
    active = [lane.watermark for lane in lanes if lane.watermark is not None and lane.state is not LaneState.IDLE]
    first = min([*active, newest if summary.watermark is None else summary.watermark])
    spread = max(newest - first, _LEAST_MS)
    is_far = abs(now - newest) > _FAR * spread
    right = newest + spread // 8 if is_far else max(now, newest)
    return Axis(first - max((right - first) // 2, _LEAST_MS), right), is_far


def _boxes(axis: Axis, report: Report, windows: Periodic, watermark: int | None) -> Iterator[Box]:
    """Yields the windows on the axis; no windows if they are too many."""
    if (axis.right - axis.left) // windows.pane_ms > _BOXES:
        return
    panes = range(windows.pane_start(axis.left), axis.right + 1, windows.pane_ms)
    # The first end in each pane only, because thousands of windows may overlap.
    ends = sorted({windows.ends(windows.pane_start(pane))[-1] for pane in panes})
    closed = lateness.closed_until(report, watermark)
    for before, end in zip([windows.begin(ends[0]), *ends], ends, strict=False):
        if before < axis.right and end > axis.left:
            state = "open" if watermark is None or not lateness.has_fired(end, watermark) else "fired"
            state = "closed" if lateness.is_closed(end, closed) else state
            yield Box(end, axis.at(max(before, windows.begin(end))), axis.at(end), state)


def _next_end(windows: Periodic, watermark: int | None) -> int | None:
    return None if watermark is None else windows.ends(windows.pane_start(watermark))[-1]
