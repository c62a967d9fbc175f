"""The watermark: one number per Kafka partition, combined by the minimum over the active ones.

Source: Flink, "Generating Watermarks" (bounded out-of-orderness, idle sources). Unlike Flink's per-record
generator, state moves once per batch, so a verdict never depends on the order inside a batch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pipeline.time.verdicts import Policy


@dataclass(frozen=True, slots=True)
class PartitionState:
    """What the service knows of a Kafka partition. Times in milliseconds, offsets exclusive."""

    position: int
    last_record_at: int
    max_event_time: int | None = None
    idle: bool = False

    def read(self, to_offset: int, records: int, max_event_time: int | None, now: int) -> "PartitionState":
        """After a batch brought `records` records up to `to_offset`; event times never go back."""
        times = [t for t in (self.max_event_time, max_event_time) if t is not None]
        return PartitionState(
            position=to_offset,
            last_record_at=now if records else self.last_record_at,
            max_event_time=max(times, default=None),
        )

    def settled(self, log_end: int, now: int, idle_timeout_ms: int) -> "PartitionState":
        """Idle if it was read to its log end and has been silent for the timeout."""
        silent = now - self.last_record_at >= idle_timeout_ms
        return replace(self, idle=silent and self.position >= log_end)


@dataclass(frozen=True, slots=True)
class Frontier:
    """All that decides about lateness: the watermark and the partitions behind it."""

    partitions: Mapping[int, PartitionState]
    watermark: int | None = None

    def settled(self, log_ends: Mapping[int, int], now: int, policy: Policy) -> "Frontier":
        """Re-evaluates idleness, then moves the watermark: never back, and not at all if every partition is idle."""
        partitions = {
            number: state.settled(log_ends.get(number, state.position), now, policy.idle_timeout_ms)
            for number, state in self.partitions.items()
        }
        return Frontier(partitions, _combine(self.watermark, partitions, policy.bound_ms))


def _combine(watermark: int | None, partitions: Mapping[int, PartitionState], bound_ms: int) -> int | None:
    """The minimum over the active partitions; one that never had an event holds the watermark where it is."""
    newest = [state.max_event_time for state in partitions.values() if not state.idle]
    known = [time for time in newest if time is not None]
    if not newest or len(known) < len(newest):
        return watermark
    candidate = min(known) - bound_ms
    return candidate if watermark is None else max(watermark, candidate)
