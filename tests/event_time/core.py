"""The pure core without Spark: judges the records of a batch and passes them to the progress of a service."""

from dataclasses import dataclass, field

from tests.event_time.strategies import PARTITIONS, Record, Step
from tests.support.judge import judge
from tidemark.pipeline.event_time import window_states
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.event_time.firing import WindowsDue
from tidemark.pipeline.event_time.malformed import MalformedLimit, MalformedShare
from tidemark.pipeline.event_time.policy import Policy, Verdict
from tidemark.pipeline.event_time.progress import Progress
from tidemark.pipeline.event_time.tallies import Statistic
from tidemark.pipeline.event_time.watermark import Frontier, PartitionState
from tidemark.pipeline.event_time.windows.periodic import Periodic, PeriodicState

NAME = "all"
_CHECK_OF = {
    Verdict.COUNTED: Check.PASSED,
    Verdict.TOO_LATE: Check.TOO_LATE,
    Verdict.FUTURE: Check.FUTURE,
    Verdict.MALFORMED: Check.EVENT_TIME,
    Verdict.LEFT_OUT: Check.OTHER_KIND,
    Verdict.DUPLICATE: Check.DUPLICATE,
    Verdict.ERASED: Check.ERASED,
}
_TRUSTED = (Verdict.COUNTED, Verdict.TOO_LATE, Verdict.DUPLICATE)


@dataclass
class Core:
    """One service's event time, with a clock that the steps move."""

    policy: Policy
    now: int = 0
    progress: Progress = field(init=False)

    def __post_init__(self) -> None:
        frontier = Frontier({number: PartitionState(0, 0) for number in range(PARTITIONS)})
        self.progress = Progress(
            "t", self.policy, 0, frontier, window_states.initial(self.policy), MalformedShare(MalformedLimit(1, 1))
        )

    @property
    def frontier(self) -> Frontier:
        """The state from which the next batch starts."""
        return self.progress.frontier

    @property
    def windows(self) -> PeriodicState:
        """The state of the windows of the only report."""
        state = self.progress.windows[NAME]
        assert isinstance(state, PeriodicState)
        return state

    def take(self, step: Step) -> tuple[dict[Record, Verdict], WindowsDue]:
        """Takes a batch that reads to the end of the log. Returns the verdict on each record, and what is due."""
        self.now += step.silence_ms
        verdicts = {record: self.verdict(record) for record in step.records}
        statistics = [row_of(record, verdicts[record], self.policy) for record in step.records]
        ends = {
            number: position + sum(record.partition == number for record in step.records)
            for number, position in self.progress.positions.items()
        }
        batch, self.progress = self.progress.after(statistics, ends, ends, self.now)
        firing = batch.firings[NAME]
        assert isinstance(firing, WindowsDue)
        return verdicts, firing

    def verdict(self, record: Record) -> Verdict:
        """Returns the verdict on a record by the current watermark."""
        return judge(record.event_time, record.kafka_timestamp, self.frontier.watermark, self.policy)


def windows_of(policy: Policy) -> Periodic:
    """Returns the windows of the only report of a policy."""
    windows = policy.reports[0].windows
    assert isinstance(windows, Periodic)
    return windows


def ends_of(record: Record, policy: Policy) -> range:
    """Returns the ends of the windows that a record belongs to."""
    windows = windows_of(policy)
    return windows.ends(windows.pane_start(record.event_time))


def row_of(record: Record, verdict: Verdict, policy: Policy) -> Statistic:
    """Returns a record as a row of the fold's statistics."""
    pane = windows_of(policy).pane_start(record.event_time) if verdict is Verdict.COUNTED else None
    newest = record.event_time if verdict in _TRUSTED else None
    age = record.kafka_timestamp % 3
    return Statistic(0, record.partition, int(_CHECK_OF[verdict]), pane, age, 1, newest, 100)
