"""Computes the outcome of another bound for the same batches: fewer events too late, or earlier results.

A partition's watermark is its highest event time minus the bound. With a bound that is larger by some time, the minimum
over all partitions would have been lower by that time in every batch.
"""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from tidemark.pipeline.event_time.windows.base import Windows


@dataclass(frozen=True, slots=True)
class BoundStep:
    """A batch: the watermark after it, its bound, and the time of its commit. All in milliseconds."""

    watermark: int
    bound_ms: int
    committed_at: int


@dataclass(frozen=True, slots=True)
class EventsBySlack:
    """Events with the same slack: the watermark may rise by `slack_ms` before they are too late; <= 0 if they are."""

    slack_ms: int
    bound_ms: int
    events: int


@dataclass(frozen=True, slots=True)
class EventHistory:
    """The history of a warehouse that determines outcomes."""

    bound_ms: int
    """The current bound."""
    events: int
    """Number of events that a watermark judged: counted, or too late."""
    by_slack: Sequence[EventsBySlack]
    """Events by slack; includes at least those that another bound would have judged differently."""
    steps: Sequence[BoundStep]
    """Batches in order, from the first watermark on."""
    windows: Collection[Windows]
    late_by_slack: Sequence[EventsBySlack] = ()
    """Recorded events that were late for a window at least, by the slack until their first window closes."""
    unjudged: int = 0
    """Number of events that were read before there was a watermark, so that no bound could make them late."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a bound."""

    bound_ms: int
    events: int
    too_late: int
    late: int
    """Number of events that would have been too late for a window at least; `too_late` is for all windows."""
    is_late_exact: bool
    """Whether `late` is exact: the additional late events of a smaller bound were not recorded."""
    later_ms: tuple[int, int] | None
    """Added delay of results compared with the current bound: median and 95th percentile; negative if earlier.

    None if no window would have fired yet.
    """


class Advance(NamedTuple):
    """A new watermark and the time of its commit, in milliseconds."""

    watermark: int
    at: int


def outcome_of(history: EventHistory, bound_ms: int) -> Outcome:
    """Computes the outcome of the bound `bound_ms` for a history."""
    too_late, recorded = (_late(groups, bound_ms) for groups in (history.by_slack, history.late_by_slack))
    is_late_exact = all(step.bound_ms <= bound_ms for step in history.steps)
    delays = sorted(_delays(history, bound_ms))
    later = (_percentile(delays, 0.5), _percentile(delays, 0.95)) if delays else None
    return Outcome(bound_ms, history.events, too_late, max(too_late, recorded), is_late_exact, later)


def _late(groups: Sequence[EventsBySlack], bound_ms: int) -> int:
    return sum(group.events for group in groups if group.slack_ms <= group.bound_ms - bound_ms)


def _delays(history: EventHistory, bound_ms: int) -> list[int]:
    """Returns the delay that another bound would add to the newest windows that each batch fired, in ms."""
    current, other = _timeline(history.steps, history.bound_ms), _timeline(history.steps, bound_ms)
    ends = {
        end
        for (before, _), (after, _) in pairwise(current)
        for end in (windows.reached(after) for windows in history.windows)
        if end > before
    }
    fired = [(_reached_at(current, end), _reached_at(other, end)) for end in ends]
    return [late - early for early, late in fired if early is not None and late is not None]


def _timeline(steps: Sequence[BoundStep], bound_ms: int) -> list[Advance]:
    """Returns each advance of the watermark with another bound."""
    advances: list[Advance] = []
    for step in steps:
        watermark = step.watermark + step.bound_ms - bound_ms
        if not advances or watermark > advances[-1].watermark:
            advances.append(Advance(watermark, step.committed_at))
    return advances


def _reached_at(timeline: list[Advance], end: int) -> int | None:
    """Returns the time at which the watermark reached `end`; None if it has not."""
    index = bisect_left(timeline, (end, 0))
    return timeline[index].at if index < len(timeline) else None


def _percentile(ordered: list[int], share: float) -> int:
    return ordered[ceil(share * len(ordered)) - 1]
