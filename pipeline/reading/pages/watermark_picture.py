"""The picture of the watermark: where everything stands on an axis of event time, in percent of its width. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pipeline.event_time import lateness
from pipeline.event_time.reports import Report
from pipeline.event_time.windows.periodic import Periodic
from pipeline.reading.ledger_summary import LedgerSummary
from pipeline.reading.pages.watermark_lanes import Lane, LaneState

_STEPS: Final = tuple(
    seconds * 1000
    for seconds in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
)
_TICKS: Final = 4
_LANES: Final = 12
"""So many partitions are drawn: those that are furthest behind."""
_BOXES: Final = 60
"""More windows than that are no longer told apart."""
_FAR: Final = 4
"""A clock that is so many times further from the newest event than partitions differ is left outside."""
_LEAST_MS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Axis:
    """A span of event time, in milliseconds."""

    left: int
    right: int

    def at(self, time: int) -> float:
        """Where a time is, in percent; what lies outside is at the edge."""
        return round(min(max((time - self.left) * 100 / (self.right - self.left), 0.0), 100.0), 2)

    @property
    def ticks(self) -> list[int]:
        """A few round times on it."""
        step = next((step for step in _STEPS if (self.right - self.left) / step <= _TICKS), None)
        step = step or -(-(self.right - self.left) // _TICKS // _STEPS[-1]) * _STEPS[-1]
        first = -(-self.left // step) * step
        return list(range(first, self.right + 1, step))


@dataclass(frozen=True, slots=True)
class Box:
    """A window, or of windows that overlap what the one that ends here has more than the one before."""

    end: int
    left: float
    right: float
    state: str
    """open, fired or closed."""


@dataclass(frozen=True, slots=True)
class Picture:
    """All that is drawn."""

    axis: Axis
    lanes: tuple[Lane, ...]
    hidden: int
    """Partitions that are not drawn."""
    boxes: tuple[Box, ...]
    watermark: int | None
    now: int
    clock_is_far: bool
    next_end: int | None
    """End of the next window that fires; None where no clock tells it."""


def picture_of(summary: LedgerSummary, lanes: Sequence[Lane], report: Report | None, now: int) -> Picture | None:
    """The picture of a moment, `now` in milliseconds; None before there is an event."""
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
    """From somewhat before whatever holds the watermark to the clock, if that is anywhere near."""
    active = [lane.watermark for lane in lanes if lane.watermark is not None and lane.state is not LaneState.IDLE]
    first = min([*active, newest if summary.watermark is None else summary.watermark])
    spread = max(newest - first, _LEAST_MS)
    is_far = abs(now - newest) > _FAR * spread
    right = newest + spread // 8 if is_far else max(now, newest)
    return Axis(first - max((right - first) // 2, _LEAST_MS), right), is_far


def _boxes(axis: Axis, report: Report, windows: Periodic, watermark: int | None) -> Iterator[Box]:
    """The windows on the axis; none where they are too many."""
    if (axis.right - axis.left) // windows.pane_ms > _BOXES:
        return
    panes = range(windows.pane_start(axis.left), axis.right + 1, windows.pane_ms)
    # Of each pane the end that comes first: of windows that overlap there may be thousands more.
    ends = sorted({windows.ends(windows.pane_start(pane))[-1] for pane in panes})
    closed = lateness.closed_until(report, watermark)
    for before, end in zip([windows.begin(ends[0]), *ends], ends, strict=False):
        if before < axis.right and end > axis.left:
            state = "open" if watermark is None or not lateness.has_fired(end, watermark) else "fired"
            state = "closed" if lateness.is_closed(end, closed) else state
            yield Box(end, axis.at(max(before, windows.begin(end))), axis.at(end), state)


def _next_end(windows: Periodic, watermark: int | None) -> int | None:
    return None if watermark is None else windows.ends(windows.pane_start(watermark))[-1]
