"""The watermark: the minimum over the watermarks of the active Kafka partitions.

Source: Flink, "Generating Watermarks" (bounded out-of-orderness, punctuated and time-lag generators, idle sources).
Unlike Flink's generator, which acts per record, the state changes once per batch, so a verdict does not depend on the
order within a batch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from tidemark.pipeline.event_time.arrival import NO_TIME, STEP_MS, ArrivalRows, Arrivals, ArrivalSpan, ArrivalState
from tidemark.pipeline.event_time.policy import AllIdle, Policy


@dataclass(frozen=True, slots=True)
class PartitionState:
    """The state of a Kafka partition. `position` is the next offset to read, times are milliseconds since 1970."""

    position: int
    last_event_at: int
    max_event_time: int | None = None
    idle: bool = False

    def read(self, to_offset: int, events: int, max_event_time: int | None, now: int) -> "PartitionState":
        """Returns the state after a batch with `events` that ends before `to_offset`."""
        times = [t for t in (self.max_event_time, max_event_time) if t is not None]
        return PartitionState(
            position=to_offset,
            last_event_at=now if events else self.last_event_at,
            max_event_time=max(times, default=None),
        )

    def advanced(self, log_end: int, now: int, idle_timeout_ms: int) -> "PartitionState":
        """Returns the state at `now`: idle if read up to `log_end` and without an event for `idle_timeout_ms`."""
        silent = now - self.last_event_at >= idle_timeout_ms
        return replace(self, idle=silent and self.position >= log_end)


@dataclass(frozen=True, slots=True)
class Frontier:
    """The watermark, and the state of the partitions that it is computed from."""

    partitions: Mapping[int, PartitionState]
    watermark: int | None = None
    arrival: ArrivalState | None = None
    """The state of arrival at the end of the last batch; None if records are judged by batch."""

    @property
    def positions(self) -> Mapping[int, int]:
        """The next offset to read, per partition."""
        return {partition: state.position for partition, state in self.partitions.items()}

    def with_partitions(self, new: Mapping[int, PartitionState]) -> "Frontier":
        """Adds partitions that have not been read."""
        arrival = self.arrival and self.arrival.with_partitions(new)
        return replace(self, partitions={**self.partitions, **new}, arrival=arrival)

    def at(self, watermark: int) -> "Frontier":
        """Returns the frontier at another watermark."""
        arrival = self.arrival and replace(self.arrival, watermark=watermark)
        return replace(self, watermark=watermark, arrival=arrival)

    @property
    def arrived_before(self) -> int | None:
        """The time in ms before which all records have been read; None if records are judged by batch."""
        return None if self.arrival is None else self.arrival.step * STEP_MS

    def span(self, until: int | None) -> ArrivalSpan | None:
        """Returns the next batch by arrival, which has all records that arrived before `until`, in milliseconds.

        None if records are judged by batch. A clock that was put back does not end a batch before it begins.
        """
        if self.arrival is None:
            return None
        assert until is not None  # noqa: S101 - for the type checker: the planner ends such a batch by arrival
        return ArrivalSpan(self.arrival, max(until // STEP_MS, self.arrival.step))

    def arrivals(
        self, rises: ArrivalRows, until: int | None, unsettled: Mapping[int, int] = MappingProxyType({})
    ) -> Arrivals | None:
        """Returns what a batch shows of arrival; None if records are judged by batch."""
        span = self.span(until)
        return None if span is None else Arrivals(rises, span.until, unsettled)

    def arrived(self, arrivals: Arrivals, policy: Policy) -> "Frontier":
        """Advances the watermark by arrival."""
        assert self.arrival is not None  # noqa: S101 - for the type checker
        arrival = self.arrival.after(arrivals.rises, arrivals.until, policy)
        partitions = {
            number: self._arrived(state, arrival, number, policy) for number, state in self.partitions.items()
        }
        return Frontier(partitions, arrival.watermark, arrival)

    def _arrived(self, state: PartitionState, arrival: ArrivalState, number: int, policy: Policy) -> PartitionState:
        last, highest = arrival.last_event(number), arrival.partitions[number].highest
        silent = last is not None and (arrival.step - last) * STEP_MS >= policy.idle_timeout_ms
        last_event_at = state.last_event_at if last is None else (last + 1) * STEP_MS
        return replace(
            state, last_event_at=last_event_at, max_event_time=None if highest == NO_TIME else highest, idle=silent
        )

    def advanced(self, log_ends: Mapping[int, int], now: int, policy: Policy) -> "Frontier":
        """Re-evaluates idleness, then advances the watermark. It never decreases.

        While all partitions are idle, `policy.all_idle` decides whether it advances with the clock `now`.
        """
        partitions = {
            partition: state.advanced(log_ends.get(partition, state.position), now, policy.idle_timeout_ms)
            for partition, state in self.partitions.items()
        }
        candidate = self._candidate(partitions, now, policy)
        watermarks = [time for time in (self.watermark, candidate) if time is not None]
        return replace(self, partitions=partitions, watermark=max(watermarks, default=None))

    def _candidate(self, partitions: Mapping[int, PartitionState], now: int, policy: Policy) -> int | None:
        """Returns the watermark by the strategy; None if it does not move."""
        active = [state for state in partitions.values() if policy.strategy.by_clock or not state.idle]
        # Before the first event no window waits, and old events may still come.
        if not active and policy.all_idle is AllIdle.ADVANCE and self.watermark is not None:
            return now - policy.strategy.delay_ms
        # A long batch may end after several timeouts: partitions that were silent for longer became idle first.
        last = max((state.last_event_at for state in partitions.values()), default=now)
        states = active or [state for state in partitions.values() if state.last_event_at == last]
        times = [policy.strategy.watermark(state.max_event_time, now) for state in states]
        # A partition that never had an event holds the watermark.
        known = [time for time in times if time is not None]
        return min(known, default=None) if len(known) == len(times) else None
