"""The watermark explain: what each partition does to it, and in words why it is where it is. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pipeline.event_time.policy import AllIdle, Policy
from pipeline.instants import span_of
from pipeline.reading.ledger_summary import LedgerSummary

_TOGETHER_MS: Final = 1000
"""Heads that differ by less do not tell of a partition that holds the others up."""
_NAMED: Final = 4
"""So many partitions are named in a sentence."""


class LaneState(StrEnum):
    """What a partition does to the watermark."""

    HOLDS = "holds the watermark"
    AHEAD = "is ahead of it"
    IDLE = "is idle"
    EMPTY = "had no event yet"


@dataclass(frozen=True, slots=True)
class Lane:
    """A Kafka partition; times in milliseconds."""

    partition: int
    head: int | None
    """Its newest event."""
    watermark: int | None
    """Where it alone would have the watermark."""
    silent_ms: int
    """For how long, at the last commit, it had brought nothing."""
    state: LaneState


def lanes_of(summary: LedgerSummary) -> list[Lane]:
    """Each partition, as of the last commit."""
    partitions, strategy = {one.partition: one for one in summary.partitions}, summary.policy.strategy
    alone = {number: strategy.watermark(one.max_event_time, summary.committed_at) for number, one in partitions.items()}
    silent = {number: max(0, summary.committed_at - one.last_record_at) for number, one in partitions.items()}
    timeout_ms = summary.policy.idle_timeout_ms
    active = {number: time for number, time in alone.items() if strategy.by_clock or silent[number] < timeout_ms}
    known = [time for time in active.values() if time is not None]
    lowest = min(known) if known and len(known) == len(active) else None
    return [
        Lane(number, one.max_event_time, alone[number], silent[number], _doing(number, active, lowest))
        for number, one in partitions.items()
    ]


def _doing(partition: int, active: dict[int, int | None], lowest: int | None) -> LaneState:
    if partition not in active:
        return LaneState.IDLE
    alone = active[partition]
    if alone is None:
        return LaneState.EMPTY
    return LaneState.HOLDS if alone == lowest else LaneState.AHEAD


def explain(summary: LedgerSummary, lanes: Sequence[Lane]) -> list[str]:
    """Sentences on why the watermark is where it is."""
    return [*_why(summary, lanes), *_idle(summary.policy, lanes)]


def _why(summary: LedgerSummary, lanes: Sequence[Lane]) -> Iterator[str]:
    by = {doing: [lane for lane in lanes if lane.state is doing] for doing in LaneState}
    policy = summary.policy
    if policy.strategy.by_clock:
        yield f"The clock alone moves the watermark, {span_of(policy.strategy.idle_lag_ms)} behind it."
    elif all(lane.head is None for lane in lanes):
        yield "No event was read yet, so there is no watermark and nothing fires."
    elif by[LaneState.EMPTY]:
        yield (
            f"{_named(by[LaneState.EMPTY])} had no event yet and may still bring old ones, so the watermark "
            f"stays where it is until there is one, or nothing came for {span_of(policy.idle_timeout_ms)}."
        )
    elif len(by[LaneState.IDLE]) == len(lanes):
        yield _all_idle(policy)
    else:
        yield _held(summary, by[LaneState.HOLDS], lanes)
        yield from _lag(summary, by[LaneState.HOLDS][0])


def _all_idle(policy: Policy) -> str:
    if policy.all_idle is AllIdle.ADVANCE:
        return "All partitions are idle, so the watermark follows the clock."
    return "All partitions are idle, so the watermark stays where it is: the last windows wait for the next event."


def _held(summary: LedgerSummary, holders: Sequence[Lane], lanes: Sequence[Lane]) -> str:
    holder = holders[0]
    newest = max(lanes, key=lambda lane: lane.head or 0)
    behind = (newest.head or 0) - (holder.head or 0)
    if summary.watermark is not None and (holder.watermark or 0) < summary.watermark:
        back = summary.watermark - (holder.watermark or 0)
        return (
            f"{_named(holders)} came back with events older than the watermark, which never goes back: it waits until "
            f"they are newer by {span_of(back)}."
        )
    if len(lanes) == 1:
        return "The only partition moves the watermark."
    if behind < _TOGETHER_MS:
        return f"The partitions go together: their newest events are within {span_of(behind)} of one another."
    return (
        f"{_named(holders)} {'holds' if len(holders) == 1 else 'hold'} the watermark back: the newest event there is "
        f"{span_of(behind)} older than that of partition {newest.partition}."
    )


def _lag(summary: LedgerSummary, holder: Lane) -> Iterator[str]:
    """How the distance to the clock comes about; where it is days, events of another time are read."""
    if summary.watermark is None or holder.head is None:
        return
    age, bound = summary.committed_at - holder.head, summary.policy.strategy.idle_lag_ms
    if age >= 0:
        yield (
            f"At the last commit it was {span_of(summary.committed_at - summary.watermark)} behind the clock: the "
            f"event that decides was {span_of(age)} old, and the bound waits {span_of(bound)} for others out of order."
        )


def _idle(policy: Policy, lanes: Sequence[Lane]) -> Iterator[str]:
    idle = [lane for lane in lanes if lane.state is LaneState.IDLE]
    if idle and len(idle) < len(lanes):
        quiet = min(lane.silent_ms for lane in idle)
        yield (
            f"{_named(idle)} {'is' if len(idle) == 1 else 'are'} idle, with nothing new for {span_of(quiet)}, and left "
            f"out: after {span_of(policy.idle_timeout_ms)} of silence nobody waits for a partition."
        )


def _named(lanes: Sequence[Lane]) -> str:
    if len(lanes) == 1:
        return f"Partition {lanes[0].partition}"
    names = [str(lane.partition) for lane in lanes[:_NAMED]]
    more = f" and {len(lanes) - _NAMED} more" if len(lanes) > _NAMED else ""
    return f"Partitions {', '.join(names)}{more}"
