"""Plays a transcript by arrival on the pure core: its events arrive one after another, in batches of any cut.

A task's `Lane` decides which events are certainly in time. The driver judges the others by W at their step.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tests.event_time.arrival_rule import Lane, Record
from tests.transcripts.core_fold import Judged, counted_in, judged, statistics
from tests.transcripts.core_tables import CoreTables
from tests.transcripts.transcript import Sent, Transcript
from tests.transcripts.transcript_settings import policy_of
from tidemark.pipeline.event_time import window_states
from tidemark.pipeline.event_time.arrival import NO_TIME, STEP_MS, ArrivalRows, Arrivals, ArrivalState
from tidemark.pipeline.event_time.batch import EPOCH, Batch
from tidemark.pipeline.event_time.checks import Check, reason_of
from tidemark.pipeline.event_time.malformed import MalformedLimit, MalformedShare
from tidemark.pipeline.event_time.policy import JudgedBy, Policy
from tidemark.pipeline.event_time.progress import Progress
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.event_time.watermark import Frontier, PartitionState

_SHARE = MalformedShare(MalformedLimit(1, 1))


class Arriving(NamedTuple):
    """An event, and the step at which it arrives."""

    event: Sent
    step: int


class Outcome(NamedTuple):
    """The result, equal for any cut: the rows of each table without ids of batches, rejected events, the watermark."""

    tables: Mapping[str, Mapping[Any, Mapping[str, Any]]]
    dead: Counter[tuple[str, int, str]]
    watermark: int | None


def arriving(transcript: Transcript) -> list[Arriving]:
    """Returns the events of a transcript, each at a step of its own, after every event time; waits take their time."""
    sent = [event for step in transcript.steps for event in step.send]
    at, found = max(event.event_time for event in sent) // STEP_MS + 1, list[Arriving]()
    for step in transcript.steps:
        at += step.wait_ms // STEP_MS
        for event in step.send:
            found.append(Arriving(event, at))
            at += 1
    return found


def arrival_policy(transcript: Transcript) -> Policy:
    """Returns the policy of a transcript, judged by arrival."""
    return replace(policy_of(transcript), judged=JudgedBy.ARRIVAL)


class ArrivalPlayer:
    """A service that judges by arrival, without Spark, broker and tables."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript, self._policy = transcript, arrival_policy(transcript)
        self._tables, self._dead = CoreTables(), Counter[tuple[str, int, str]]()
        self._positions = dict.fromkeys(range(transcript.value("partitions")), 0)
        start = {partition: PartitionState(0, 0) for partition in self._positions}
        frontier = Frontier({}, arrival=ArrivalState({})).with_partitions(start)
        states = window_states.initial(self._policy)
        _, self._progress = Progress("t", self._policy, EPOCH, frontier, states, _SHARE).at_start()

    def take(self, batch: Sequence[Arriving], until: int) -> None:
        """Takes a batch, which has every further event that arrives before the step `until`."""
        rises, watermarks = self._judge(batch, until)
        entries = [
            judged([each.event], self._policy, watermark, 0)[0]
            for each, watermark in zip(batch, watermarks, strict=True)
        ]
        for each in batch:
            self._positions[each.event.partition] += 1
        moved = (entry if entry.moving_time is None else replace(entry, moving_time=entry.time) for entry in entries)
        found = self._progress.after(
            statistics(moved, self._policy), self._positions, self._positions, 0, Arrivals(rises, until)
        )
        # The tables take events as they arrived: sessions that had closed are closed for all that arrive later.
        arrived = sorted(zip(batch, entries, watermarks, strict=True), key=lambda each: each[0].step)
        for consumer in self._policy.consumers:
            for _, entry, watermark in arrived:
                counted = counted_in(consumer, [entry], self._policy, watermark, found[0].batch_id)
                self._tables.counted[consumer.name] += counted
        self._dead.update(
            (entry.event.user, entry.event.event_time, reason_of(entry.check))
            for entry in entries
            if entry.check is not Check.PASSED
        )
        self._commit(*found)

    def end(self) -> None:
        """Takes the watermark to the end of input."""
        self._commit(*self._progress.ended(0))

    def outcome(self, *, totals: bool = True) -> Outcome:
        """Returns what the batches led to. While batches come, totals have those up to the one that made them due."""
        tables = {
            name: {key: row.values for key, row in rows.items()}
            for name, rows in self._tables.tables(self._transcript).items()
            if totals or name != UserTotals.name
        }
        return Outcome(tables, self._dead, self._progress.frontier.watermark)

    def _judge(self, batch: Sequence[Arriving], until: int) -> tuple[ArrivalRows, list[int | None]]:
        """Returns the rises of a batch, and the watermark that judges each event."""
        before = self._progress.frontier.arrival
        assert before
        lanes = {number: Lane(number, before, self._policy, until - 1) for number in before.partitions}
        is_certain = [lanes[each.event.partition].arrive(self._record(each)) for each in batch]
        rises = ArrivalRows.of([row for lane in lanes.values() for row in lane.end()])
        steps = np.array([each.step for each in batch], np.int64)
        at_steps = before.watermarks(rises, steps, self._policy).tolist()
        own = [before.watermark if certain else at for certain, at in zip(is_certain, at_steps, strict=True)]
        return rises, [None if watermark == NO_TIME else watermark for watermark in own]

    def _record(self, each: Arriving) -> Record:
        entry: Judged = judged([each.event], self._policy, None, 0)[0]
        return Record(each.step * STEP_MS, entry.time, is_event=True, moves=entry.moving_time is not None)

    def _commit(self, batch: Batch, after: Progress) -> None:
        self._progress = after
        reports = {report.name: report for report in self._policy.reports}
        self._tables.publish(window_states.due(batch.firings), after.batch_id, self._transcript, reports)
