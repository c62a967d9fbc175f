"""Explains the watermark in sentences, and by the effect of each partition. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tidemark.command_line.counts import span_of
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.policy import AllIdle, Policy
from tidemark.pipeline.reading.ledger_summary import LedgerSummary

_TOGETHER_MS: Final = 1000
"""Partitions whose newest events differ by less are in step."""
_NAMED: Final = 4
"""A sentence names at most this many partitions."""


class LaneState(StrEnum):
    """The effect of a partition on the watermark."""

    HOLDS = "holds the watermark"
    AHEAD = "is ahead of it"
    IDLE = "is idle"
    EMPTY = "has no event yet"


@dataclass(frozen=True, slots=True)
class Lane:
    """A Kafka partition; times in milliseconds."""

    partition: int
    head: int | None
    """Time of its newest event."""
    watermark: int | None
    """The watermark of this partition alone."""
    silent_ms: int
    """Time without a record, as of the last commit."""
    state: LaneState


def lanes_of(summary: LedgerSummary) -> list[Lane]:
    """Returns the partitions as of the last commit."""
    partitions, strategy = {status.partition: status for status in summary.partitions}, summary.policy.strategy
    alone = {n: strategy.watermark(status.max_event_time, summary.committed_at) for n, status in partitions.items()}
    silent = {n: max(0, summary.committed_at - status.last_event_at) for n, status in partitions.items()}
    timeout_ms = summary.policy.idle_timeout_ms
    active = {n: time for n, time in alone.items() if strategy.by_clock or silent[n] < timeout_ms}
    known = [time for time in active.values() if time is not None]
    lowest = min(known) if known and len(known) == len(active) else None
    return [
        Lane(n, status.max_event_time, alone[n], silent[n], _state(n, active, lowest))
        for n, status in partitions.items()
    ]


def _state(partition: int, active: dict[int, int | None], lowest: int | None) -> LaneState:
    if partition not in active:
        return LaneState.IDLE
    alone = active[partition]
    if alone is None:
        return LaneState.EMPTY
    return LaneState.HOLDS if alone == lowest else LaneState.AHEAD


def explain(summary: LedgerSummary, lanes: Sequence[Lane]) -> list[str]:
    """Returns sentences on why the watermark is where it is."""
    return [*_why(summary, lanes), *_idle(summary.policy, lanes)]


def _why(summary: LedgerSummary, lanes: Sequence[Lane]) -> Iterator[str]:
    by = {state: [lane for lane in lanes if lane.state is state] for state in LaneState}
    policy = summary.policy
    if summary.watermark == rules.END_OF_INPUT:
        yield "The input was declared complete, so the watermark is at the end of time and all windows are closed."
    elif policy.strategy.by_clock:
        yield f"Only time moves the watermark, {span_of(policy.strategy.delay_ms)} behind the clock."
    elif all(lane.head is None for lane in lanes):
        yield "No event was read yet, so there is no watermark and no window fires."
    elif empty := by[LaneState.EMPTY]:
        yield (
            f"{_names_of(empty)} {'has' if len(empty) == 1 else 'have'} no event yet and may still deliver old events. "
            f"The watermark waits for an event, or until no event has arrived for {span_of(policy.idle_timeout_ms)}."
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
    lead_ms = (newest.head or 0) - (holder.head or 0)
    if summary.watermark is not None and (holder.watermark or 0) < summary.watermark:
        back = summary.watermark - (holder.watermark or 0)
        return (
            f"{_names_of(holders)} resumed with events older than the watermark, which never decreases. It waits until "
            f"they are newer by {span_of(back)}."
        )
    if len(lanes) == 1:
        return "The only partition moves the watermark."
    if lead_ms < _TOGETHER_MS:
        return f"The partitions are in step: their newest events are within {span_of(lead_ms)} of one another."
    return (
        f"{_names_of(holders)} {'holds' if len(holders) == 1 else 'hold'} the watermark back: its newest event is "
        f"{span_of(lead_ms)} older than that of partition {newest.partition}."
    )


def _lag(summary: LedgerSummary, holder: Lane) -> Iterator[str]:
    """Explains how far the watermark trails the clock, by the newest event of the partition that holds it back.

    Yields nothing if that event is ahead of the clock.
    """
    if summary.watermark is None or holder.head is None:
        return
    age, bound = summary.committed_at - holder.head, summary.policy.strategy.delay_ms
    if age >= 0:
        yield (
            f"At the last commit it was {span_of(summary.committed_at - summary.watermark)} behind the clock: the "
            f"newest event of that partition was {span_of(age)} old, and the bound is {span_of(bound)}."
        )


def _idle(policy: Policy, lanes: Sequence[Lane]) -> Iterator[str]:
    idle = [lane for lane in lanes if lane.state is LaneState.IDLE]
    if idle and len(idle) < len(lanes):
        quiet = min(lane.silent_ms for lane in idle)
        yield (
            f"{_names_of(idle)} {'is' if len(idle) == 1 else 'are'} idle: no event for {span_of(quiet)}. After "
            f"{span_of(policy.idle_timeout_ms)} without events a partition does not hold back the watermark."
        )


def _names_of(lanes: Sequence[Lane]) -> str:
    if len(lanes) == 1:
        return f"Partition {lanes[0].partition}"
    names = [str(lane.partition) for lane in lanes[:_NAMED]]
    more = f" and {len(lanes) - _NAMED} more" if len(lanes) > _NAMED else ""
    return f"Partitions {', '.join(names)}{more}"
