"""A batch in five steps: fold, write ahead, commit, publish, observe.

Publication runs beside the batches that follow, in order; nothing is committed before what it stands on.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from threading import Lock

from pyspark.sql import DataFrame, Row

from pipeline.batch import Batch, Statistic, Tallies, positions
from pipeline.errors import Replaced
from pipeline.frames.fold import Fold, Known
from pipeline.frames.groupings import Groupings
from pipeline.frames.outputs import dead_letters, panes, pieces
from pipeline.parts import Parts
from pipeline.publisher import Publisher
from pipeline.start import Opened
from pipeline.tables.housekeeping import delete_void
from pipeline.tables.schemas import DEAD_LETTERS, PANES
from pipeline.tables.write import Appender
from pipeline.time.lives import anything
from pipeline.time.watermark import Frontier, PartitionState
from pipeline.upkeep import Upkeep


class Service:
    """Takes batches one after another and sees each through to the tables."""

    def __init__(self, parts: Parts, opened: Opened, publisher: Publisher) -> None:
        self._parts = parts
        self._frontier = opened.frontier
        self.committed = 0
        self._lives = opened.lives
        self._number = opened.number
        self._publisher = publisher
        self._upkeep = Upkeep(parts, opened.last_batches)
        self._turn = Lock()
        self._closed = False
        self._panes = Appender(PANES, parts.warehouse)
        self._dead_letters = Appender(DEAD_LETTERS, parts.warehouse)
        self._plan: Fold | None = None

    @property
    def frontier(self) -> Frontier:
        """Where the next batch begins."""
        return self._frontier

    def positions(self) -> Mapping[int, int]:
        """The next offset to read, per partition that the topic has now: a query must be told of every one."""
        return {**self._parts.topic.earliest(), **positions(self._frontier)}

    def take(self, records: DataFrame, ends: Mapping[int, int]) -> None:
        """One batch of Kafka rows, read up to `ends`; returns when it is committed.

        Raises Replaced if a newer service has taken over, and whatever made publishing impossible.
        """
        self._publisher.check()
        with self._turn:
            if self._closed:  # the checkpoint is disposable: what is not taken is read again by the next start
                return
            if ends == positions(self._frontier):  # a query begins with a batch even where there is nothing to read
                self._settle()
                return
            self._take(records, self._with_new_partitions(ends), ends)

    def tick(self) -> None:
        """Re-evaluates idleness without data; commits and publishes if that moved the watermark."""
        self._publisher.check()
        with self._turn:
            self._settle()

    def flush(self, patience_s: float | None = None) -> None:
        """Returns when all that was committed is published. Raises what made that fail."""
        self._publisher.flush(patience_s)

    def close(self) -> None:
        """Takes no further batch, after the one in hand."""
        with self._turn:
            self._closed = True

    def _settle(self) -> None:
        before, log_ends = self._frontier, self._parts.topic.log_ends()
        after = before.settled(log_ends, self._parts.now(), self._parts.policy)
        if after.watermark == before.watermark:
            self._frontier = after
            self._parts.observer.settled(after)
        else:
            self._finish(self._step(before, after, Tallies(), self._parts.now()))

    def _take(self, records: DataFrame, before: Frontier, ends: Mapping[int, int]) -> None:
        plan, now = self._plan_for(len(before.partitions)), self._parts.now()
        with ExitStack() as kept:
            with self._parts.timed("fold"):
                folded = plan(records, Known(before.watermark, now)).persist()
                kept.callback(folded.unpersist)
                batch = self._fold(plan.statistics(folded, now).collect(), before, ends, now)
            with self._parts.timed("write_ahead"):
                self._write_ahead(folded, plan.groupings, batch)
        self._finish(batch)

    def _plan_for(self, partitions: int) -> Fold:
        """The plan of the fold, made when it is first needed, and again when the topic has grown."""
        if self._plan is None or self._plan.partitions != partitions:
            self._plan = Fold(self._parts.schemas, self._parts.policy, partitions)
        return self._plan

    def _fold(self, statistics: Sequence[Row], before: Frontier, ends: Mapping[int, int], now: int) -> Batch:
        """Step 1, once its one pass over the records is done: what it read, and what that makes due."""
        tallies = Tallies()
        for row in statistics:
            tallies.add(Statistic(*row))
        read = {
            number: state.read(ends.get(number, state.position), tally.records, tally.max_event_time, now)
            for number, state in before.partitions.items()
            for tally in [tallies.of(number)]
        }
        after = Frontier(read, before.watermark).settled(
            self._parts.topic.log_ends(), self._parts.now(), self._parts.policy
        )
        return self._step(before, after, tallies, now)

    def _step(self, before: Frontier, after: Frontier, tallies: Tallies, folded_at: int) -> Batch:
        self._number += 1
        self._frontier = after
        dues = self._lives.after_batch(tallies.panes, before.watermark, after.watermark, self._number)
        topic = self._parts.topic.name
        return Batch(self._number, topic, before, after, tallies, dues, folded_at, self._parts.policy)

    def _write_ahead(self, folded: DataFrame, groups: Groupings, batch: Batch) -> None:
        """Step 2: partial counts and dead letters; void until the commit."""
        watermark = batch.before.watermark
        for piece in pieces(folded, batch.tallies.bytes):
            self._dead_letters.append(dead_letters(piece, batch.topic, batch.number, watermark))
            rows = panes(piece, self._parts.policy.reports, groups, batch.number, watermark)
            self._panes.append(rows)

    def _finish(self, batch: Batch) -> None:
        with self._parts.timed("commit"):
            committed_at = self._commit(batch)
        self.committed += 1
        if anything(batch.dues):
            self._publisher.offer(batch.dues, batch.number)
        if self._upkeep.due_after(batch):
            self._publisher.afterwards(lambda: self._upkeep(batch))
        self._observe(batch, committed_at)

    def _commit(self, batch: Batch) -> int:
        """Step 3: the batch counts from here on."""
        committed_at = self._parts.now()
        try:
            self._parts.ledger.commit(batch.ledger_rows(committed_at))
        except Replaced:
            delete_void(self._parts.warehouse, {batch.epoch: batch.number - 1})
            raise
        return committed_at

    def _observe(self, batch: Batch, committed_at: int) -> None:
        """Step 5: metrics and the mirrored offsets, from what was committed."""
        self._parts.observer.committed(batch, committed_at)
        self._parts.mirror.commit({number: state.position for number, state in batch.after.partitions.items()})
        self._parts.ledger.tidy()

    def _with_new_partitions(self, ends: Mapping[int, int]) -> Frontier:
        """Partitions added to the topic since, each from its beginning."""
        known = self._frontier.partitions
        if ends.keys() <= known.keys():
            return self._frontier
        earliest, now = self._parts.topic.earliest(), self._parts.now()
        new = {number: PartitionState(earliest[number], now) for number in ends.keys() - known.keys()}
        return Frontier({**known, **new}, self._frontier.watermark)
