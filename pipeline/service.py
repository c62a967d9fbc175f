"""A batch in five steps: fold, write ahead, commit, publish, observe.

The fold of a batch runs beside the write-ahead of the one before it, and both beside the publication of an earlier
one. Order is kept in each step, and nothing is committed before what it stands on.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Lock

from pyspark.sql import DataFrame

from pipeline.batch import Batch, Tallies, positions
from pipeline.errors import Replaced
from pipeline.frames.fold import Known, fold
from pipeline.frames.outputs import dead_letters, panes, statistics
from pipeline.parts import Parts
from pipeline.publisher import Publisher
from pipeline.start import Opened
from pipeline.tables.housekeeping import delete_void
from pipeline.tables.schemas import DEAD_LETTERS, PANES
from pipeline.tables.write import Appender, Write
from pipeline.time.verdicts import Verdict
from pipeline.time.watermark import Frontier, PartitionState
from pipeline.upkeep import Upkeep

_REJECTED = (Verdict.TOO_LATE, Verdict.FUTURE, Verdict.MALFORMED)


class Service:
    """Takes batches one after another and sees each through to the tables."""

    def __init__(self, parts: Parts, opened: Opened, publisher: Publisher) -> None:
        self._parts = parts
        self._frontier = opened.frontier
        self.committed = 0
        self._windows = opened.windows
        self._number = opened.number
        self._publisher = publisher
        self._upkeep = Upkeep(parts, opened.last_batches)
        self._turn = Lock()
        self._closed = False
        self._panes = Appender(PANES, parts.warehouse)
        self._dead_letters = Appender(DEAD_LETTERS, parts.warehouse)
        self._finisher = ThreadPoolExecutor(max_workers=1, thread_name_prefix="finisher")
        self._writers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="writer")
        self._finishing: Future[None] | None = None

    @property
    def frontier(self) -> Frontier:
        """Where the next batch begins."""
        return self._frontier

    def positions(self) -> Mapping[int, int]:
        """The next offset to read, per partition that the topic has now: a query must be told of every one."""
        return {**self._parts.topic.earliest(), **positions(self._frontier)}

    def take(self, records: DataFrame, ends: Mapping[int, int]) -> None:
        """One batch of Kafka rows, read up to `ends`; returns when its fold is done and the batch before is committed.

        Raises Replaced if a newer service has taken over, and whatever made an earlier batch fail.
        """
        with self._turn:
            if self._closed:  # the checkpoint is disposable: what is not taken is read again by the next start
                return
            if ends == positions(self._frontier):  # a query begins with a batch even where there is nothing to read
                self._settle()
                return
            with self._parts.timed("fold"):
                folded, batch = self._fold(records, ends)
                writes = self._prepare(batch, folded)
            self._hand_over(batch, writes, folded)

    def tick(self) -> None:
        """Re-evaluates idleness without data; commits and publishes if that moved the watermark."""
        with self._turn:
            self._settle()

    def flush(self) -> None:
        """Returns when all that was taken is committed and published. Raises what made it fail."""
        if self._finishing is not None:
            self._finishing.result()
        self._publisher.flush()

    def close(self) -> None:
        """Takes no further batch and lets the one in hand finish."""
        with self._turn:
            self._closed = True
        self._finisher.shutdown(wait=True)
        self._writers.shutdown(wait=True)

    def _settle(self) -> None:
        before, log_ends = self._frontier, self._parts.topic.log_ends()
        after = before.settled(log_ends, self._parts.now(), self._parts.policy)
        if after.watermark == before.watermark:
            self._frontier = after
            self._parts.observer.settled(after)
        else:
            self._hand_over(self._step(before, after, Tallies(), self._parts.now()))

    def _fold(self, records: DataFrame, ends: Mapping[int, int]) -> tuple[DataFrame, Batch]:
        """Step 1: one pass over the records; its small result stays in memory."""
        before, now = self._with_new_partitions(ends), self._parts.now()
        partitions = max(ends) + 1
        schemas, policy = self._parts.schemas, self._parts.policy
        folded = fold(records, schemas, policy, Known(before.watermark, now, partitions)).persist()
        tallies = Tallies()
        for row in statistics(folded, now, partitions).collect():
            tallies.add(*row)
        read = {
            number: state.read(ends.get(number, state.position), tally.records, tally.max_event_time, now)
            for number, state in before.partitions.items()
            for tally in [tallies.of(number)]
        }
        after = Frontier(read, before.watermark).settled(self._parts.topic.log_ends(), self._parts.now(), policy)
        return folded, self._step(before, after, tallies, now)

    def _step(self, before: Frontier, after: Frontier, tallies: Tallies, folded_at: int) -> Batch:
        self._number += 1
        self._frontier = after
        ends = {end for pane in tallies.panes for end in self._parts.policy.grid.ends(pane)}
        due = self._windows.after_batch(ends, before.watermark, after.watermark, self._number)
        return Batch(self._number, self._parts.topic.name, before, after, tallies, due, folded_at)

    def _prepare(self, batch: Batch, folded: DataFrame) -> list[Write]:
        """What step 2 will write: dead letters and partial counts."""
        number, watermark, tallies = batch.number, batch.before.watermark, batch.tallies
        partitions = max(batch.after.partitions) + 1
        writes = []
        if tallies.panes:
            rows = panes(folded, number, watermark, partitions)
            writes.append(self._panes.prepare(rows, tallies.counted_bytes))
        if tallies.total(_REJECTED):
            rows = dead_letters(folded, batch.topic, number, watermark, partitions)
            writes.append(self._dead_letters.prepare(rows, tallies.rejected_bytes))
        return writes

    def _hand_over(self, batch: Batch, writes: Sequence[Write] = (), folded: DataFrame | None = None) -> None:
        if self._finishing is not None:
            self._finishing.result()
        self._finishing = self._finisher.submit(self._finish, batch, writes, folded)

    def _finish(self, batch: Batch, writes: Sequence[Write], folded: DataFrame | None) -> None:
        try:
            with self._parts.timed("write_ahead"):
                self._write_ahead(writes)
        finally:
            if folded is not None:
                folded.unpersist()
        with self._parts.timed("commit"):
            committed_at = self._commit(batch)
        self.committed += 1
        if batch.due:
            self._publisher.offer(batch.due, batch.number)
        if self._upkeep.due_after(batch):
            self._publisher.afterwards(lambda: self._upkeep(batch))
        self._observe(batch, committed_at)

    def _write_ahead(self, writes: Sequence[Write]) -> None:
        """Step 2: dead letters and partial counts, side by side; void until the commit."""
        written = [self._writers.submit(write) for write in writes]
        wait(written)
        for one in written:
            one.result()

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
