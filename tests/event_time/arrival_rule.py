"""Lateness by arrival in slow Python: the rule, record by record, and what a task of a fold does with a partition."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.arrival import NO_TIME, STEP_MS, ArrivalState, ahead_ms, doubt_ms, moving_time
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.watermark import Frontier, PartitionState

Row = tuple[int, int, int, int]


class Record(NamedTuple):
    """A record of a partition; times in milliseconds."""

    kafka_timestamp: int
    time: int
    is_event: bool = True
    """Whether it is read as an event, and ends a silence."""
    moves: bool = True
    """Whether its time is trusted. Only a record with a trusted time moves the watermark, and can be late."""


Topic = Sequence[Sequence[Record]]
"""The records of each partition."""


def steps_of(records: Sequence[Record], low: int = 0) -> Iterator[tuple[int, Record]]:
    """Yields each record of a partition with the step at which it arrived: never a lower one than before."""
    for record in records:
        low = max(low, record.kafka_timestamp // STEP_MS)
        yield low, record


def whole(topic: Topic, policy: Policy) -> tuple[dict[tuple[int, int], int | None], int | None]:
    """Returns the watermark that judges each record, by partition and index, and the watermark after all.

    Each step is a batch of its own, at the time at which the step starts, by the rule of `Frontier`.
    """
    by_step = dict[int, list[tuple[int, int, Record]]]()
    for number, records in enumerate(topic):
        for index, (step, record) in enumerate(steps_of(records)):
            by_step.setdefault(step, []).append((number, index, record))
    frontier = Frontier({number: PartitionState(0, rules.NEVER) for number in range(len(topic))})
    judged, has_begun = dict[tuple[int, int], int | None](), False
    for step in range(min(by_step, default=0), max(by_step, default=-1) + 2):
        frontier = frontier.advanced({}, step * STEP_MS, policy)
        arrived = by_step.get(step, ())
        judged |= {(number, index): frontier.watermark for number, index, _ in arrived}
        if not has_begun and any(record.is_event for *_, record in arrived):
            has_begun = True
            start = {number: PartitionState(0, step * STEP_MS) for number in frontier.partitions}
            frontier = replace(frontier, partitions=start)
        for number, _, record in arrived:
            moving = moving_time(record.time, step, policy) if record.moves else None
            states = {**frontier.partitions}
            states[number] = states[number].read(0, int(record.is_event), moving, step * STEP_MS)
            frontier = replace(frontier, partitions=states)
    return judged, frontier.watermark


@dataclass
class Lane:
    """A partition in a task: what arrived, and the most that W can be although the task does not see the others.

    A record at or after `limit` is neither late nor after a firing of its windows, whatever the windows are, and joins
    no session that was closed.
    """

    number: int
    state: ArrivalState
    policy: Policy
    last: int = rules.NEVER
    """The last step of the batch: what arrived later, by a clock that is ahead, counts as if at it."""
    rows: list[Row] = field(default_factory=list)
    """Finished rows of `ArrivalRows`."""
    unsettled: int = 0
    """Events whose step is not that of their arrival."""

    def __post_init__(self) -> None:
        arrived, self.step = self.state.partitions[self.number], self.state.step
        self.highest, self.last_event = arrived.highest, arrived.last_event
        if self.last_event is None:
            self.last_event = self.state.origin
        self.ahead = rules.as_number(self.state.watermark)
        self.first: int | None = None
        self.arrived = NO_TIME
        self.has_event, self.of_step = False, NO_TIME

    def arrive(self, record: Record) -> bool:
        """Returns whether the record is certainly not late at its step, `step`."""
        self.arrived = max(self.arrived, record.kafka_timestamp // STEP_MS)
        step = max(self.step, min(self.arrived, self.last))
        if step > self.step:
            self.fold()
            self.step = step
            if self.last_event is None or self.is_silent(step):
                # The others may have moved W while this partition did not count: by times of lower steps.
                self.ahead = max(self.ahead, step * STEP_MS + ahead_ms(self.policy) - self.delay_ms)
        self.has_event |= record.is_event
        self.unsettled += record.is_event and self.arrived != step
        if record.moves:
            self.of_step = max(self.of_step, moving_time(record.time, step, self.policy))
        return record.time >= self.limit

    @property
    def limit(self) -> int:
        """The most that W can be at the current step; with sessions a millisecond after it."""
        if self.policy.strategy.by_clock:
            return max(self.ahead, self.step * STEP_MS - self.delay_ms)
        return max(self.ahead, NO_TIME if self.highest == NO_TIME else self.highest - self.delay_ms)

    @property
    def delay_ms(self) -> int:
        strategy = self.policy.strategy
        return (strategy.delay_ms if strategy.by_clock else strategy.event_delay_ms) - doubt_ms(self.policy)

    def is_silent(self, step: int) -> bool:
        assert self.last_event is not None
        return (step - self.last_event) * STEP_MS >= self.policy.idle_timeout_ms

    def fold(self) -> None:
        """Takes the events of the current step into account, for later steps."""
        if not self.has_event:
            return
        if self.first is None or self.of_step > self.highest or self.is_silent(self.step):
            self.give()
            self.first = self.step
        self.highest, self.last_event = max(self.highest, self.of_step), self.step
        self.of_step, self.has_event = NO_TIME, False

    def give(self) -> None:
        if self.first is not None and self.last_event is not None:
            self.rows.append((self.number, self.first, self.last_event, self.highest))

    def end(self) -> list[Row]:
        """Returns all rows, after the last record."""
        self.fold()
        self.give()
        return self.rows


def table_of(
    topic: Topic, watermarks: Mapping[tuple[int, int], int | None], policy: Policy
) -> Counter[tuple[int, int, bool]]:
    """Returns how many events each window counts, by report, end, and whether it had fired before the event."""
    counts = Counter[tuple[int, int, bool]]()
    for (number, index), watermark in watermarks.items():
        record = topic[number][index]
        for report_number, report in enumerate(policy.reports):
            for window in report.windows.of(record.time):
                if record.moves and window.end + report.allowed_lateness_ms > rules.as_number(watermark):
                    counts[report_number, window.end, window.end <= rules.as_number(watermark)] += 1
    return counts
