"""Counts of the records of a batch, by Kafka partition, pane and age. Nothing is decided in this module."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from tidemark.pipeline.event_time.checks import DETAILS, Check, verdict_of
from tidemark.pipeline.event_time.policy import Verdict


@dataclass(slots=True)
class Tally:
    """Counts of the records of one Kafka partition in a batch."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    partly_late: int = 0
    """Counted records that are too late for some of their windows."""
    panes: Counter[int] = field(default_factory=Counter)
    """Counted records, by the start of their pane in milliseconds."""
    max_event_time: int | None = None

    @property
    def events(self) -> int:
        """Returns the number of records with an event time: all except malformed and left-out ones."""
        return self.verdicts.total() - self.verdicts[Verdict.MALFORMED] - self.verdicts[Verdict.LEFT_OUT]


class Statistic(NamedTuple):
    """A row of the fold's statistics. `check` is a `Check`, times are milliseconds."""

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
    """Counts of the records of a batch, by partition, pane and age."""

    partitions: dict[int, Tally] = field(default_factory=dict)
    panes: set[int] = field(default_factory=set)
    ages_ms: Counter[int] = field(default_factory=Counter)
    bytes: int = 0
    """Size of the folded rows."""
    malformed: Counter[Check] = field(default_factory=Counter)
    """Malformed records, by the check that they failed."""

    @classmethod
    def of_rows(cls, rows: Iterable[Statistic]) -> Self:
        """Adds up the statistics of a batch. Each grouping has all counted records; grouping 0 has all records."""
        tallies = cls()
        for row in rows:
            tallies.bytes += row.bytes
            if row.grouping:
                continue
            check, verdict = Check(row.check), verdict_of(Check(row.check))
            tally = tallies.partitions.setdefault(row.partition, Tally())
            tally.verdicts[verdict] += row.records
            if verdict is Verdict.MALFORMED:
                tallies.malformed[check] += row.records
            tally.partly_late += row.records if check is Check.PARTLY_LATE else 0
            times = [time for time in (tally.max_event_time, row.max_event_time) if time is not None]
            tally.max_event_time = max(times, default=None)
            if row.pane is not None:
                tallies.panes.add(row.pane)
                tally.panes[row.pane] += row.records
            tallies.ages_ms[row.age_ms] += row.records
        return tallies

    def of_partition(self, partition: int) -> Tally:
        """Returns a partition's tally; empty if no record came from it."""
        return self.partitions.get(partition, Tally())

    def reasons(self) -> Counter[str]:
        """Returns the number of records by verdict; malformed records are split by what is wrong with them."""
        others = {verdict.value: self.total([verdict]) for verdict in Verdict if verdict is not Verdict.MALFORMED}
        return Counter({**others, **self.malformed_details()})

    def malformed_details(self) -> dict[str, int]:
        """Returns the number of malformed records by what is wrong with them."""
        return {DETAILS[check]: records for check, records in self.malformed.items()}

    def total(self, verdicts: Iterable[Verdict] = tuple(Verdict)) -> int:
        """Returns the number of records with any of the verdicts, over all partitions."""
        return sum(tally.verdicts[verdict] for tally in self.partitions.values() for verdict in verdicts)
