"""A batch after its fold: its offsets, verdicts and watermark, and the windows that it makes due."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.arrival import STEP_MS, ArrivalState, Arrived
from tidemark.pipeline.event_time.lateness import too_late_at
from tidemark.pipeline.event_time.policy import Policy, Verdict
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.event_time.tallies import Tallies
from tidemark.pipeline.event_time.watermark import Frontier
from tidemark.pipeline.event_time.window_states import Firings

EPOCH: Final = 10**9
"""Batch id = epoch * EPOCH + position in the epoch. Position 0 opens the epoch."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One Kafka partition in one batch. Offsets are half-open, times in ms, watermarks those of the whole service."""

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
    """Counted records (`records`) that would be too late if the bound were smaller by `slack_ms`."""
    opening: str | None = None
    """The opening of the epoch, as JSON; null except in the rows that open it."""
    duplicate: int = 0
    """Records that repeat a counted event. Older ledgers lack this column."""
    erased: int = 0
    """Records of erased users whose later events are dropped. Older ledgers lack this column."""
    left_out: int = 0
    """Records of kinds that are not mapped. Older ledgers lack this column."""
    arrived_before: int | None = None
    """By arrival: all records that arrived before this time are in this batch or an earlier one."""
    first_arrival: int | None = None
    """By arrival: when the first event of the topic arrived."""
    last_arrival: int | None = None
    """By arrival: when the last event of the partition arrived."""
    unsettled: int | None = None
    """By arrival: events that were not judged at the step of their arrival, so that another reading may differ.

    They could be read only after the batch of their arrival, their Kafka timestamp was ahead of the clock, or their
    step has more records than a batch.
    """


@dataclass(frozen=True, slots=True)
class Batch:
    """One step of the service's state, from `before` to `after`. Times are milliseconds since 1970."""

    batch_id: int
    topic: str
    before: Frontier
    after: Frontier
    tallies: Tallies
    firings: Firings
    folded_at: int
    policy: Policy
    lost: Mapping[int, int] = field(default_factory=dict)
    """Count of offsets, by partition, that Kafka's retention removed before they were read."""
    opening: str | None = None
    open_windows: Mapping[str, int] = field(default_factory=dict)
    """Count of windows that are not closed after the batch, by report."""
    unsettled: Mapping[int, int] = field(default_factory=dict)
    """Count of events, by partition, that were not judged at the step of their arrival, see `LedgerRow`."""

    @property
    def epoch(self) -> int:
        """The epoch of the batch: each start of a service opens one."""
        return self.batch_id // EPOCH

    @property
    def is_empty(self) -> bool:
        """Whether the batch moved neither an offset nor the watermark."""
        return self.before.watermark == self.after.watermark and self.before.positions == self.after.positions

    def summary(self, committed_at: int) -> dict[str, int | None]:
        """Returns the fields of the batch's log line: counts of records by verdict and of windows; times in ms."""
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
        """Returns one row per Kafka partition, in order. `committed_at` is in milliseconds."""
        return [self._row(partition, committed_at) for partition in sorted(self.after.partitions)]

    def _row(self, partition: int, committed_at: int) -> LedgerRow:
        state, start = self.after.partitions[partition], self.before.partitions[partition].position
        arrival = self.after.arrival
        tally, lost = self.tallies.of_partition(partition), self.lost.get(partition, 0)
        # By arrival the watermark from before the batch judged few of its records.
        slacks = {} if self.policy.by_arrival else slack(tally.panes, self.before.watermark, self.policy)
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
            slack=[{"slack_ms": slack_ms, "records": records} for slack_ms, records in slacks.items()],
            opening=self.opening,
            arrived_before=self.after.arrived_before,
            first_arrival=None if arrival is None else _time(arrival.origin),
            last_arrival=None if arrival is None else _time(arrival.partitions[partition].last_event),
            unsettled=None if arrival is None else self.unsettled.get(partition, 0),
        )


def arrival_after(rows: Sequence[LedgerRow], policy: Policy) -> ArrivalState | None:
    """Returns what the ledger's newest batch, `rows`, left of arrival; None if `policy` judges by batch.

    If the batch was judged by batch, nothing is known of when its records arrived.
    """
    if not policy.by_arrival:
        return None
    partitions = {row.partition: Arrived(rules.as_number(row.max_event_time), _step(row.last_arrival)) for row in rows}
    newest = rows[0]
    step = _step(newest.arrived_before) or 0
    return ArrivalState(partitions, step, newest.watermark, _step(newest.first_arrival))


def _step(time: int | None) -> int | None:
    return None if time is None else time // STEP_MS


def _time(step: int | None) -> int | None:
    return None if step is None else step * STEP_MS


def slack(counted: Mapping[int, int], watermark: int | None, policy: Policy) -> dict[int, int]:
    """Returns the number of counted events of a batch by their slack, in milliseconds.

    If the bound were smaller by its slack, an event would be too late. `counted` are the events of the batch by the
    start of their pane, `watermark` is the watermark before the batch. Slacks above the bound are left out, because
    no bound is below 0. For sessions the slack is accurate to the length of a pane. The result is empty if the
    watermark does not follow a bound.
    """
    if watermark is None or not isinstance(policy.strategy, Bounded):
        return {}
    slacks, bound_ms = Counter[int](), policy.strategy.bound_ms
    # Rounded up to three digits of the bound, so that short panes under a long bound do not fill the ledger.
    step = 10 ** max(len(str(bound_ms)) - 3, 0)
    for pane, records in counted.items():
        slack_ms = max(1, too_late_at(policy.reports, pane) - watermark)
        if slack_ms <= bound_ms:
            slacks[-(-slack_ms // step) * step] += records
    return dict(sorted(slacks.items()))
