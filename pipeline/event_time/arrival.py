"""The watermark as a function of arrival: which records are late does not depend on where a topic was cut into batches.

The **arrival** of a record is the highest Kafka timestamp of its partition up to it, in steps of `STEP_MS`. W at a step
is what today's rule gives if each step were a batch of its own, at the time at which the step starts: it is a function
of all records of lower steps, and of nothing else. Step `s` is the time `[s * STEP_MS, (s + 1) * STEP_MS)`.

A task of a fold sees one partition in order and gives its part of that function as rows, `ArrivalRows`.
Source: Flink, which emits watermarks every 200 ms.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, NamedTuple, Self

import numpy as np

from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.event_ids import Bools, Longs
from tidemark.pipeline.event_time.policy import AllIdle, Policy

STEP_MS: Final = 200
NO_TIME: Final = rules.NO_WATERMARK
"""Means "no trusted time yet" and "no watermark yet" in arrays."""


class ArrivalRows(NamedTuple):
    """When the highest trusted times of partitions arrived: columns of equal lengths, in any order.

    `partition` has events at the steps `first` and `last`, and between them no silence of the idle timeout. The highest
    trusted time up to each of these steps is `highest`, in milliseconds (`NO_TIME` without one). Every event of a batch
    is in a row. Rows of a partition do not overlap.
    """

    partition: Longs
    first: Longs
    last: Longs
    highest: Longs

    @classmethod
    def of(cls, rows: list[tuple[int, int, int, int]]) -> Self:
        """Returns the columns of rows."""
        return cls(*np.array(rows, np.int64).reshape(-1, len(cls._fields)).T)

    def where(self, which: Bools) -> "ArrivalRows":
        """Returns some of the rows."""
        return ArrivalRows(*(column[which] for column in self))


NO_ROWS: Final = ArrivalRows.of([])


@dataclass(frozen=True, slots=True)
class Arrived:
    """The highest trusted time that arrived in a partition before a step, and the step of the last event."""

    highest: int = NO_TIME
    last_event: int | None = None


@dataclass(frozen=True, slots=True)
class ArrivalState:
    """The state after the records of all steps before `step`, on which later watermarks depend.

    Every record of a later batch arrives at `step` or later: a Kafka timestamp below it counts as `step`.
    """

    partitions: Mapping[int, Arrived]
    step: int = 0
    watermark: int | None = None
    origin: int | None = None
    """The step of the first event of the topic: a partition without events is idle one timeout after it."""

    def last_event(self, partition: int) -> int | None:
        """Returns the step from which a partition is silent: that of its last event, or of the first of the topic."""
        own = self.partitions[partition].last_event
        return self.origin if own is None else own

    def with_partitions(self, numbers: Iterable[int]) -> "ArrivalState":
        """Adds partitions, of which nothing has arrived."""
        return replace(self, partitions={**dict.fromkeys(numbers, Arrived()), **self.partitions})

    def without_times(self, after: int = NO_TIME) -> "ArrivalState":
        """Forgets the highest times of partitions if they are after `after`, in milliseconds."""
        partitions = {
            number: replace(arrived, highest=NO_TIME) if arrived.highest > after else arrived
            for number, arrived in self.partitions.items()
        }
        return replace(self, partitions=partitions)

    def watermarks(self, rows: ArrivalRows, steps: Longs, policy: Policy) -> Longs:
        """Returns W at each of `steps`, given the rows of the batch; `NO_TIME` without a watermark.

        The steps are at or after `step`, in any order. All records of lower steps must have been read.
        """
        # Between rows W rises only because partitions become idle: the next point finds them so.
        points = np.unique(np.concatenate([rows.first, steps]))
        risen = np.maximum.accumulate(self._candidates(rows, points, policy)) if len(points) else points
        reached = np.maximum(risen, rules.as_number(self.watermark))
        return reached[np.searchsorted(points, steps)]

    def after(self, rows: ArrivalRows, step: int, policy: Policy) -> "ArrivalState":
        """Returns the state before `step`, given the rows of a batch that has all records of lower steps.

        What arrived at `step`, because it settled too late or the step has more records than a batch, counts as before.
        """
        rows = rows._replace(first=np.minimum(rows.first, step - 1), last=np.minimum(rows.last, step - 1))
        watermark = int(self.watermarks(rows, np.array([step]), policy)[0])
        partitions = {number: self._arrived(number, rows) for number in self.partitions}
        return replace(
            self,
            partitions=partitions,
            step=step,
            watermark=None if watermark == NO_TIME else watermark,
            origin=self._origin(rows),
        )

    def _arrived(self, partition: int, rows: ArrivalRows) -> Arrived:
        before, own = self.partitions[partition], rows.where(rows.partition == partition)
        if not len(own.first):
            return before
        return Arrived(max(before.highest, int(own.highest.max())), int(own.last.max()))

    def _origin(self, rows: ArrivalRows) -> int | None:
        return int(rows.first.min()) if self.origin is None and len(rows.first) else self.origin

    def _candidates(self, rows: ArrivalRows, points: Longs, policy: Policy) -> Longs:
        """Returns the watermark to which each point would move it: the rule of `Frontier.advanced`, at many times."""
        clock, nothing = points * STEP_MS - policy.strategy.delay_ms, np.full(len(points), NO_TIME)
        if policy.strategy.by_clock:
            return clock
        origin = self._origin(rows)
        if origin is None:
            return nothing
        lowest, of_last, newest = np.full(len(points), rules.NEVER), nothing, nothing
        for partition in self.partitions:
            own_watermark, last = self._of_partition(partition, rows, points, policy.strategy.event_delay_ms, origin)
            is_active = (points - last) * STEP_MS < policy.idle_timeout_ms
            lowest = np.where(is_active, np.minimum(lowest, own_watermark), lowest)
            equal = np.where(last == newest, np.minimum(of_last, own_watermark), of_last)
            of_last = np.where(last > newest, own_watermark, equal)
            newest = np.maximum(newest, last)
        all_idle = lowest == rules.NEVER
        candidates = np.where(all_idle, of_last, lowest)
        if policy.all_idle is AllIdle.ADVANCE:
            has_moved = np.maximum.accumulate(candidates) > NO_TIME
            follows = all_idle & (has_moved | (self.watermark is not None))
            candidates = np.where(follows, np.maximum(candidates, clock), candidates)
        return candidates

    def _of_partition(
        self, partition: int, rows: ArrivalRows, points: Longs, delay_ms: int, origin: int
    ) -> tuple[Longs, Longs]:
        """Returns at each point a partition's own watermark, and the step of its last event, both before the point."""
        before, own = self.partitions[partition], rows.where(rows.partition == partition)
        own = ArrivalRows(*(column[np.argsort(own.first, kind="stable")] for column in own))
        # Index 0 is the state before the rows.
        count = np.searchsorted(own.first, points, side="left")
        highest = np.maximum.accumulate(np.append(before.highest, own.highest))[count]
        ends = np.append(origin if before.last_event is None else before.last_event, own.last)
        last = np.minimum(np.maximum.accumulate(ends)[count], points - 1)
        return np.where(highest == NO_TIME, NO_TIME, highest - delay_ms), last


class Arrivals(NamedTuple):
    """The rises of a batch, and the step before which all records have been read."""

    rises: ArrivalRows
    until: int
    unsettled: Mapping[int, int] = MappingProxyType({})
    """By partition the number of events that were not judged at the step of their arrival, see `LedgerRow`."""


class ArrivalSpan(NamedTuple):
    """A batch by arrival: what the batches before it left, and the step before which it has all further records."""

    before: ArrivalState
    until: int


def settled_before(now: int, policy: Policy) -> int:
    """Returns the time in ms such that every record that arrived before it can be read at `now`."""
    return (now - policy.settling_ms) // STEP_MS * STEP_MS


def of_watermarks(watermarks: Longs, value: Callable[[int], int]) -> Longs:
    """Returns a value for each watermark, computed once for equal ones."""
    known, which = np.unique(watermarks, return_inverse=True)
    return np.array([value(watermark) for watermark in known.tolist()], np.int64)[which]


def ahead_ms(policy: Policy) -> int:
    """Returns how far after its arrival, in milliseconds, the time of an event may move the watermark.

    While a partition is idle W goes on by the others. Its task does not see them, but knows by this limit how far at
    most.
    """
    return 0 if policy.caps_watermark else policy.max_future_skew_ms


def doubt_ms(policy: Policy) -> int:
    """Returns how far after W, in milliseconds, an event must be to be certainly judged as it was before its batch.

    An event at W joins a session that ended at W, unless that session was closed by then.
    """
    return int(any(report.windows.event_ms for report in policy.reports))


def moving_time(time: int, step: int, policy: Policy) -> int:
    """Returns the time in milliseconds up to which an event that arrived at `step` moves the watermark."""
    return min(time, (step + 1) * STEP_MS - 1 + ahead_ms(policy))
