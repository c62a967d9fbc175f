"""The outcome of another bound in the same batches: fewer events too late, or earlier results.

A partition's watermark is its highest event time minus the bound, and so is their minimum: with a bound larger by some
time the service's watermark would have been lower by that time, in every batch.
"""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from pipeline.event_time.windows.base import Windows


@dataclass(frozen=True, slots=True)
class BoundStep:
    """A batch: the watermark after it, the bound it went by, and when it was committed. All in milliseconds."""

    watermark: int
    bound_ms: int
    committed_at: int


@dataclass(frozen=True, slots=True)
class EventsBySlack:
    """Events by their slack: how much the watermark could rise before they are too late; not above zero if they are."""

    slack_ms: int
    bound_ms: int
    events: int


@dataclass(frozen=True, slots=True)
class EventHistory:
    """The history of a warehouse, as far as bounds matter."""

    bound_ms: int
    """The bound of now."""
    events: int
    """All that were counted or too late."""
    ahead: Sequence[EventsBySlack]
    """Of those at least the ones that some bound would have judged otherwise."""
    steps: Sequence[BoundStep]
    """In order, from the first watermark on."""
    windows: Collection[Windows]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a bound."""

    bound_ms: int
    events: int
    too_late: int
    later_ms: tuple[int, int] | None
    """How much later than with the bound of now windows would have had their results: median and 95th percentile.

    Earlier where below zero; None if no window would have had one yet.
    """


def outcome_of(history: EventHistory, bound_ms: int) -> Outcome:
    """The outcome of a bound in a history."""
    too_late = sum(one.events for one in history.ahead if one.slack_ms <= one.bound_ms - bound_ms)
    delays = sorted(_delays(history, bound_ms))
    later = (_percentile(delays, 0.5), _percentile(delays, 0.95)) if delays else None
    return Outcome(bound_ms, history.events, too_late, later)


def _delays(history: EventHistory, bound_ms: int) -> list[int]:
    """For each batch the newest windows that it fired: how much later another bound would have fired them."""
    now, then = _timeline(history.steps, history.bound_ms), _timeline(history.steps, bound_ms)
    ends = {
        end
        for (before, _), (after, _) in pairwise(now)
        for end in (windows.reached(after) for windows in history.windows)
        if end > before
    }
    fired = [(_reached(now, end), _reached(then, end)) for end in ends]
    return [late - early for early, late in fired if early is not None and late is not None]


def _timeline(steps: Sequence[BoundStep], bound_ms: int) -> list[tuple[int, int]]:
    """Each watermark that a bound would have led to, and when; it never goes back."""
    found: list[tuple[int, int]] = []
    for step in steps:
        watermark = step.watermark + step.bound_ms - bound_ms
        if not found or watermark > found[-1][0]:
            found.append((watermark, step.committed_at))
    return found


def _reached(timeline: list[tuple[int, int]], end: int) -> int | None:
    """When the watermark reached an end; None if it has not."""
    place = bisect_left(timeline, (end, 0))
    return timeline[place][1] if place < len(timeline) else None


def _percentile(ordered: list[int], share: float) -> int:
    return ordered[ceil(share * len(ordered)) - 1]
