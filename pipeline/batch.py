"""A batch after its fold: what it read, what became of it, and what it makes due. Plain numbers, nothing to decide."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pipeline.frames.checks import Check, verdict_of
from pipeline.tables.ledger import EPOCH, LedgerRow
from pipeline.tables.policies import opening
from pipeline.time.lives import Dues
from pipeline.time.slack import slack
from pipeline.time.verdicts import Policy, Verdict
from pipeline.time.watermark import Frontier


@dataclass(slots=True)
class Tally:
    """What one Kafka partition brought in a batch."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    partly_late: int = 0
    """Of those counted: too late for some of their windows."""
    panes: Counter[int] = field(default_factory=Counter)
    """Those counted, by pane."""
    max_event_time: int | None = None

    @property
    def records(self) -> int:
        """All records, whatever their verdict."""
        return self.verdicts.total()


class Statistic(NamedTuple):
    """A row of the fold's statistics; times in milliseconds."""

    grouping: int
    partition: int
    check: int
    pane: int | None
    age_ms: int
    records: int
    max_event_time: int | None
    bytes: int


@dataclass(slots=True)
class Tallies:
    """What a batch brought: per partition, per window, per age."""

    partitions: dict[int, Tally] = field(default_factory=dict)
    panes: set[int] = field(default_factory=set)
    ages_ms: Counter[int] = field(default_factory=Counter)
    bytes: int = 0
    """Size of the folded rows."""

    def add(self, row: Statistic) -> None:
        """One row of the fold's statistics; every grouping has all counted records, the first one all records."""
        self.bytes += row.bytes
        if row.grouping:
            return
        tally = self.partitions.setdefault(row.partition, Tally())
        tally.verdicts[verdict_of(Check(row.check))] += row.records
        tally.partly_late += row.records if row.check == Check.PARTLY_LATE else 0
        times = [time for time in (tally.max_event_time, row.max_event_time) if time is not None]
        tally.max_event_time = max(times, default=None)
        if row.pane is not None:
            self.panes.add(row.pane)
            tally.panes[row.pane] += row.records
        self.ages_ms[row.age_ms] += row.records

    def of(self, partition: int) -> Tally:
        """A partition's tally, empty if it brought nothing."""
        return self.partitions.get(partition, Tally())

    def total(self, verdicts: Iterable[Verdict] = tuple(Verdict)) -> int:
        """Records with one of the verdicts, over all partitions."""
        return sum(tally.verdicts[verdict] for tally in self.partitions.values() for verdict in verdicts)


@dataclass(frozen=True, slots=True)
class Batch:
    """One step of the service's state, from `before` to `after`; times in milliseconds."""

    number: int
    topic: str
    before: Frontier
    after: Frontier
    tallies: Tallies
    dues: Dues
    folded_at: int
    policy: Policy

    @property
    def epoch(self) -> int:
        """The life of the writing process that the batch belongs to."""
        return self.number // EPOCH

    def ledger_rows(self, committed_at: int) -> list[LedgerRow]:
        """One row per Kafka partition, in order."""
        return [self._row(partition, committed_at) for partition in sorted(self.after.partitions)]

    def _row(self, partition: int, committed_at: int) -> LedgerRow:
        state = self.after.partitions[partition]
        start = self.before.partitions[partition].position
        tally = self.tallies.of(partition)
        return LedgerRow(
            batch=self.number,
            epoch=self.epoch,
            topic=self.topic,
            partition=partition,
            from_offset=start,
            to_offset=state.position,
            records=tally.records,
            counted=tally.verdicts[Verdict.COUNTED],
            partly_late=tally.partly_late,
            too_late=tally.verdicts[Verdict.TOO_LATE],
            future=tally.verdicts[Verdict.FUTURE],
            malformed=tally.verdicts[Verdict.MALFORMED],
            gap=state.position - start - tally.records,
            max_event_time=state.max_event_time,
            watermark_before=self.before.watermark,
            watermark=self.after.watermark,
            committed_at=committed_at,
            slack=[{"slack_ms": ahead, "records": n} for ahead, n in self._slack(tally).items()],
            opening=None if self.number % EPOCH else opening(self.policy),
        )

    def _slack(self, tally: Tally) -> Mapping[int, int]:
        return slack(tally.panes, self.before.watermark, self.policy)


def positions(frontier: Frontier) -> Mapping[int, int]:
    """The next offset to read, per partition."""
    return {number: state.position for number, state in frontier.partitions.items()}
