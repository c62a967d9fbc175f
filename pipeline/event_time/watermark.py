"""The watermark: one number per Kafka partition, combined by the minimum over the active ones.

Source: Flink, "Generating Watermarks" (bounded out-of-orderness, punctuated and time-lag generators, idle sources).
Unlike Flink's per-record generator, state moves once per batch, so a verdict never depends on the order inside a batch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pipeline.event_time.policy import AllIdle, Policy


@dataclass(frozen=True, slots=True)
class PartitionState:
    """The state of a Kafka partition. Times in milliseconds, offsets exclusive."""

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

    def advanced(self, log_end: int, now: int, idle_timeout_ms: int) -> "PartitionState":
        """Idle if it was read to its log end and has been silent for the timeout."""
        silent = now - self.last_record_at >= idle_timeout_ms
        return replace(self, idle=silent and self.position >= log_end)


@dataclass(frozen=True, slots=True)
class Frontier:
    """All that decides about lateness: the watermark and the partitions behind it."""

    partitions: Mapping[int, PartitionState]
    watermark: int | None = None

    @property
    def positions(self) -> Mapping[int, int]:
        """The next offset to read, per partition."""
        return {number: state.position for number, state in self.partitions.items()}

    def advanced(self, log_ends: Mapping[int, int], now: int, policy: Policy) -> "Frontier":
        """Re-evaluates idleness, then moves the watermark: never back, and not at all if every partition is idle."""
        partitions = {
            number: state.advanced(log_ends.get(number, state.position), now, policy.idle_timeout_ms)
            for number, state in self.partitions.items()
        }
        candidate = self._candidate(partitions, now, policy)
        known = [time for time in (self.watermark, candidate) if time is not None]
        return Frontier(partitions, max(known, default=None))

    def _candidate(self, partitions: Mapping[int, PartitionState], now: int, policy: Policy) -> int | None:
        """The watermark by the strategy, None where it tells none."""
        states = [state for state in partitions.values() if policy.strategy.by_clock or not state.idle]
        active = [policy.strategy.watermark(state.max_event_time, now) for state in states]
        if active:
            # One that never had an event holds the watermark where it is.
            known = [time for time in active if time is not None]
            return min(known) if len(known) == len(active) else None
        # Before the first event there is no window that waits, and old events may be yet to come.
        advances = policy.all_idle is AllIdle.ADVANCE and self.watermark is not None
        return now - policy.strategy.idle_lag_ms if advances else None
