"""The pure core at work without Spark: gather a batch, judge it, move the frontier, say what is due."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pipeline.batch import Statistic, Tallies

from pipeline.time.checks import Check
from pipeline.time.grid import Grid
from pipeline.time.verdicts import Policy, Verdict, judge
from pipeline.time.watermark import Frontier, PartitionState
from pipeline.time.windows import Due, Windows
from tests.time.strategies import PARTITIONS, Record, Step

_CHECK_OF = {
    Verdict.COUNTED: Check.PASSED,
    Verdict.TOO_LATE: Check.TOO_LATE,
    Verdict.FUTURE: Check.FUTURE,
    Verdict.MALFORMED: Check.EVENT_TIME,
}
_TRUSTED = (Verdict.COUNTED, Verdict.TOO_LATE)


@dataclass
class Core:
    """One service's event time, with a clock that the steps move."""

    policy: Policy
    now: int = 0
    number: int = 0
    frontier: Frontier = field(
        default_factory=lambda: Frontier({number: PartitionState(0, 0) for number in range(PARTITIONS)})
    )
    windows: Windows = field(init=False)

    def __post_init__(self) -> None:
        self.windows = Windows(grid_of(self.policy), self.policy.reports[0].allowed_lateness_ms)

    def take(self, step: Step) -> tuple[dict[Record, Verdict], Due]:
        """One batch that reads to the log's end; the verdict on each record, and what the batch makes due."""
        self.now += step.silence_ms
        self.number += 1
        before = self.frontier
        verdicts = {record: self.verdict(record) for record in step.records}
        self.frontier = self._after(step.records, tallied(step.records, verdicts, self.policy))
        counted = {
            end
            for record in step.records
            if verdicts[record] is Verdict.COUNTED
            for end in ends_of(record, self.policy)
        }
        due = self.windows.after_batch(counted, before.watermark, self.frontier.watermark, self.number)
        return verdicts, due

    def verdict(self, record: Record) -> Verdict:
        """Against the watermark as it stands."""
        return judge(record.event_time, record.kafka_timestamp, self.frontier.watermark, self.policy)

    def _after(self, records: Sequence[Record], tallies: Tallies) -> Frontier:
        read = {}
        for number, state in self.frontier.partitions.items():
            tally, brought = tallies.of(number), sum(record.partition == number for record in records)
            read[number] = state.read(state.position + brought, tally.records, tally.max_event_time, self.now)
        ends = {number: state.position for number, state in read.items()}
        return Frontier(read, self.frontier.watermark).settled(ends, self.now, self.policy)


def grid_of(policy: Policy) -> Grid:
    """The windows of its only report."""
    windows = policy.reports[0].windows
    assert isinstance(windows, Grid)
    return windows


def ends_of(record: Record, policy: Policy) -> range:
    """Ends of the windows that a record belongs to."""
    grid = grid_of(policy)
    return grid.ends(grid.pane_start(record.event_time))


def tallied(records: Iterable[Record], verdicts: dict[Record, Verdict], policy: Policy) -> Tallies:
    """Each record added as a row of its own."""
    tallies = Tallies()
    for record in records:
        tallies.add(row_of(record, verdicts[record], policy))
    return tallies


def row_of(record: Record, verdict: Verdict, policy: Policy) -> Statistic:
    """A record as a row of the fold's statistics."""
    pane = grid_of(policy).pane_start(record.event_time) if verdict is Verdict.COUNTED else None
    newest = record.event_time if verdict in _TRUSTED else None
    age = record.kafka_timestamp % 3
    return Statistic(0, record.partition, int(_CHECK_OF[verdict]), pane, age, 1, newest, 100)
