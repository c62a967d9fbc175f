"""The progress of the service: an immutable value, and the pure step to the next value.

A `Progress` equals the state in the ledger. Its successor replaces it only once the batch is committed, so a batch that
fails changes nothing.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Self

from tidemark.pipeline.event_time import rules, window_states
from tidemark.pipeline.event_time.arrival import Arrivals
from tidemark.pipeline.event_time.batch import Batch
from tidemark.pipeline.event_time.malformed import MalformedShare
from tidemark.pipeline.event_time.policy import Policy, Verdict
from tidemark.pipeline.event_time.tallies import Statistic, Tallies
from tidemark.pipeline.event_time.watermark import Frontier, PartitionState
from tidemark.pipeline.event_time.window_states import Firings, States


@dataclass(frozen=True, slots=True)
class Progress:
    """The last batch, the frontier after it, and the states of each report's windows.

    The share of malformed records covers this process only. It may stop the service, but does not affect a verdict.
    """

    topic: str
    policy: Policy
    batch_id: int
    frontier: Frontier
    windows: States
    malformed: MalformedShare

    @property
    def positions(self) -> Mapping[int, int]:
        """The next offset to read, per partition."""
        return self.frontier.positions

    def with_partitions(self, partitions: Iterable[int], now: int) -> Self:
        """Adds partitions that are new in the topic, each from offset 0. `now` is the clock in milliseconds."""
        partitions_before = self.frontier.partitions
        new = {partition: PartitionState(0, now) for partition in partitions if partition not in partitions_before}
        return replace(self, frontier=self.frontier.with_partitions(new))

    def settled(self, silent: Collection[int], now: int) -> Self:
        """Returns the progress in which exactly the `silent` partitions have been silent for the idle timeout."""
        partitions = {
            number: replace(state, last_event_at=now - self.policy.idle_timeout_ms if number in silent else now)
            for number, state in self.frontier.partitions.items()
        }
        return replace(self, frontier=replace(self.frontier, partitions=partitions))

    def after(
        self,
        statistics: Iterable[Statistic],
        ends: Mapping[int, int],
        log_ends: Mapping[int, int],
        now: int,
        arrivals: Arrivals | None = None,
    ) -> tuple[Batch, Self]:
        """Returns the next batch and the progress after it.

        `statistics` are those of the fold, `ends` the offsets by partition up to which it read. A tick is a batch that
        read nothing. `log_ends` are the ends of the topic's partitions, fetched after the records were read; `now` is
        the service's clock in milliseconds. By arrival, `arrivals` decide instead of both. A batch that changes nothing
        gets no id of its own and is not committed.
        """
        tallies = Tallies.of_rows(statistics)
        read = self._read(tallies, ends, now)
        if arrivals is None:
            return self._next(tallies, read.advanced(log_ends, now, self.policy), now)
        return self._next(tallies, read.arrived(arrivals, self.policy), now, arrivals.unsettled)

    def ended(self, now: int) -> tuple[Batch, Self]:
        """Returns the batch that takes the watermark to the end of input, and the progress after it.

        `now` is the service's clock in milliseconds. Source: Flink, which does so for bounded sources.
        """
        return self._next(Tallies(), self.frontier.at(rules.END_OF_INPUT), now)

    def _next(
        self, tallies: Tallies, frontier: Frontier, now: int, unsettled: Mapping[int, int] = MappingProxyType({})
    ) -> tuple[Batch, Self]:
        batch_id = self.batch_id + 1
        firings, windows = window_states.after_batch(
            self.windows, window_states.moved(batch_id, tallies.panes, self.frontier.watermark, frontier.watermark)
        )
        judged = tallies.total() - tallies.total([Verdict.LEFT_OUT])
        malformed = self.malformed.after(judged, tallies.total([Verdict.MALFORMED]))
        open_windows = window_states.open_windows(windows)
        batch = Batch(
            batch_id,
            self.topic,
            self.frontier,
            frontier,
            tallies,
            firings,
            now,
            self.policy,
            open_windows=open_windows,
            unsettled=unsettled,
        )
        if batch.is_empty:
            return replace(batch, batch_id=self.batch_id), replace(self, frontier=frontier)
        return batch, replace(self, batch_id=batch_id, frontier=frontier, windows=windows, malformed=malformed)

    def at_start(self) -> tuple[Firings, Self]:
        """Returns what a start publishes again, and the progress after it."""
        firings, windows = window_states.at_start(self.windows, self.frontier.watermark, self.batch_id)
        return firings, replace(self, windows=windows)

    def _read(self, tallies: Tallies, ends: Mapping[int, int], now: int) -> Frontier:
        read = {
            partition: state.read(ends.get(partition, state.position), tally.events, tally.max_event_time, now)
            for partition, state in self.frontier.partitions.items()
            for tally in [tallies.of_partition(partition)]
        }
        return replace(self.frontier, partitions=read)
