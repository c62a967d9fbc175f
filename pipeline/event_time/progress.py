"""How far the service has come: one immutable value, and the pure step to the next one.

Whoever holds a `Progress` holds what the ledger has. The next one is computed beside it and taken in its place only
when its batch is committed, so a batch that fails anywhere has changed nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Self

from pipeline.event_time import window_states
from pipeline.event_time.batch import Batch
from pipeline.event_time.malformed import MalformedShare
from pipeline.event_time.policy import Policy, Verdict
from pipeline.event_time.tallies import Statistic, Tallies
from pipeline.event_time.watermark import Frontier, PartitionState
from pipeline.event_time.window_states import Firings, States


@dataclass(frozen=True, slots=True)
class Progress:
    """The last batch, the frontier that it left behind, and what each report's windows have come to.

    The share of malformed records is of this process alone: it may stop a service, and decides about no record.
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

    def with_partitions(self, numbers: Iterable[int], now: int) -> Self:
        """With partitions that were added to the topic since, each from offset 0."""
        known = self.frontier.partitions
        new = {number: PartitionState(0, now) for number in numbers if number not in known}
        return replace(self, frontier=replace(self.frontier, partitions={**known, **new}))

    def after(
        self, statistics: Iterable[Statistic], ends: Mapping[int, int], log_ends: Mapping[int, int], now: int
    ) -> tuple[Batch, Self]:
        """The next batch, which read up to `ends` what `statistics` tell, and the progress that it leads to.

        A tick is a batch that read nothing. `log_ends` are the topic's, asked after the records were read; `now` is the
        service's clock in milliseconds. A batch that changes nothing has no number of its own: it is not committed.
        """
        tallies = Tallies.of_rows(statistics)
        frontier = self._read(tallies, ends, now).advanced(log_ends, now, self.policy)
        number = self.batch_id + 1
        firings, windows = window_states.after_batch(
            self.windows, window_states.moved(number, tallies.panes, self.frontier.watermark, frontier.watermark)
        )
        malformed = self.malformed.after(tallies.total(), tallies.total([Verdict.MALFORMED]))
        still_open = window_states.open_windows(windows)
        batch = Batch(
            number, self.topic, self.frontier, frontier, tallies, firings, now, self.policy, open_windows=still_open
        )
        if batch.is_empty:
            return replace(batch, batch_id=self.batch_id), replace(self, frontier=frontier)
        return batch, replace(self, batch_id=number, frontier=frontier, windows=windows, malformed=malformed)

    def at_start(self) -> tuple[Firings, Self]:
        """The windows that a start publishes again, and the progress from there."""
        firings, windows = window_states.at_start(self.windows, self.frontier.watermark, self.batch_id)
        return firings, replace(self, windows=windows)

    def _read(self, tallies: Tallies, ends: Mapping[int, int], now: int) -> Frontier:
        read = {
            number: state.read(ends.get(number, state.position), tally.verdicts.total(), tally.max_event_time, now)
            for number, state in self.frontier.partitions.items()
            for tally in [tallies.of(number)]
        }
        return replace(self.frontier, partitions=read)
