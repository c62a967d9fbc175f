"""A batch after its fold: what it read, what became of it, and what it makes due."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pipeline.event_time.lateness import too_late_at
from pipeline.event_time.policy import Policy, Verdict
from pipeline.event_time.strategies import Bounded
from pipeline.event_time.tallies import Tallies
from pipeline.event_time.watermark import Frontier
from pipeline.event_time.window_states import Firings

EPOCH: Final = 10**9
"""Batch id = epoch * EPOCH + number; number 0 opens the epoch."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """A Kafka partition in a batch: offsets half-open, times in milliseconds, watermarks of the whole service."""

    batch: int
    epoch: int
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    records: int
    counted: int
    partly_late: int
    too_late: int
    future: int
    malformed: int
    gap: int
    lost: int
    max_event_time: int | None
    watermark_before: int | None
    watermark: int | None
    committed_at: int
    slack: list[dict[str, int]] = field(default_factory=list)
    """Counted records that a smaller bound would have made too late, by how much smaller: `slack_ms`, `records`."""
    opening: str | None = None
    """The opening of the epoch, as JSON; in the rows that open it."""
    duplicate: int = 0
    """Records that repeat an event that was counted; ledgers from before have no such column."""
    erased: int = 0
    """Records of users that were erased, whose later events are dropped; likewise."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One step of the service's state, from `before` to `after`; times in milliseconds."""

    batch_id: int
    topic: str
    before: Frontier
    after: Frontier
    tallies: Tallies
    firings: Firings
    folded_at: int
    policy: Policy
    lost: Mapping[int, int] = field(default_factory=dict)
    """Offsets per partition that retention removed before they were read."""
    opening: str | None = None
    open_windows: Mapping[str, int] = field(default_factory=dict)
    """How many windows it left that are not closed, by report."""

    @property
    def epoch(self) -> int:
        """The life of the writing process that the batch belongs to."""
        return self.batch_id // EPOCH

    @property
    def is_empty(self) -> bool:
        """Whether it changed nothing that the ledger tells: no offset and no watermark."""
        return self.before.watermark == self.after.watermark and self.before.positions == self.after.positions

    def summary(self, committed_at: int) -> dict[str, int | None]:
        """The figures of its line in the log: records by verdict, windows, and times in milliseconds."""
        firings = self.firings.values()
        return {
            "records": self.tallies.total(),
            **{verdict.value: self.tallies.total([verdict]) for verdict in Verdict},
            "fired": sum(len(firing.fired) for firing in firings),
            "refired": sum(len(firing.refired) for firing in firings),
            "closed": sum(len(firing.closed) for firing in firings),
            "watermark": self.after.watermark,
            "took_ms": committed_at - self.folded_at,
        }

    def ledger_rows(self, committed_at: int) -> list[LedgerRow]:
        """One row per Kafka partition, in order."""
        return [self._row(partition, committed_at) for partition in sorted(self.after.partitions)]

    def _row(self, partition: int, committed_at: int) -> LedgerRow:
        state, start = self.after.partitions[partition], self.before.partitions[partition].position
        tally, lost = self.tallies.of(partition), self.lost.get(partition, 0)
        found = slack(tally.panes, self.before.watermark, self.policy)
        return LedgerRow(
            batch=self.batch_id,
            epoch=self.epoch,
            topic=self.topic,
            partition=partition,
            from_offset=start,
            to_offset=state.position,
            records=tally.verdicts.total(),
            **{verdict.value: tally.verdicts[verdict] for verdict in Verdict},
            partly_late=tally.partly_late,
            gap=state.position - start - tally.verdicts.total() - lost,
            lost=lost,
            max_event_time=state.max_event_time,
            watermark_before=self.before.watermark,
            watermark=self.after.watermark,
            committed_at=committed_at,
            slack=[{"slack_ms": ahead, "records": n} for ahead, n in found.items()],
            opening=self.opening,
        )


def slack(counted: Mapping[int, int], watermark: int | None, policy: Policy) -> dict[int, int]:
    """Milliseconds of slack -> counted events, given those of a batch by pane and the watermark from before it.

    With a bound smaller by the slack the watermark would have been that much higher, and the events too late. So
    what has more slack than the bound itself is not told: no bound is below zero. Of sessions it is right to a pane's
    length. Empty where no bound moves the watermark.
    """
    if watermark is None or not isinstance(policy.strategy, Bounded):
        return {}
    found, bound_ms = Counter[int](), policy.strategy.bound_ms
    # Rounded up to three digits of the bound, so that short panes under a long bound do not fill the ledger.
    step = 10 ** max(len(str(bound_ms)) - 3, 0)
    for pane, records in counted.items():
        ahead = max(1, too_late_at(policy.reports, pane) - watermark)
        if ahead <= bound_ms:
            found[-(-ahead // step) * step] += records
    return dict(sorted(found.items()))
