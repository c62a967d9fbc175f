"""A batch in five steps: fold, write ahead, commit, publish, observe.

Publication runs beside the batches that follow, in order; nothing is committed before what it stands on, and nothing is
taken for done before it is committed.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from threading import Lock

import structlog
from pyspark.sql import DataFrame
from structlog.contextvars import bound_contextvars

from pipeline.errors import SetUpError
from pipeline.event_time import window_states
from pipeline.event_time.batch import Batch
from pipeline.event_time.checks import DETAILS, Check
from pipeline.event_time.event_ids import Ids
from pipeline.event_time.malformed import limit_exceeded_message
from pipeline.event_time.progress import Progress
from pipeline.event_time.tallies import Statistic
from pipeline.event_time.watermark import Frontier
from pipeline.event_time.window_states import due
from pipeline.fold import pieces
from pipeline.fold.fold import BatchContext, Fold
from pipeline.fold.hidden import hiding
from pipeline.runtime.java_process import heap_bytes
from pipeline.service.deduplication import Deduplication
from pipeline.service.erasure_notice import Notice
from pipeline.service.guesses import Guesses
from pipeline.service.maintenance import Maintenance
from pipeline.service.publisher import Publisher
from pipeline.service.recovery import Opened
from pipeline.service.resources import Resources
from pipeline.service.same_topic import SameTopic
from pipeline.service.write_ahead import Folded, WriteAhead

_log = structlog.get_logger()


class Service:
    """Takes batches one after another and sees each through to the tables.

    It holds what the ledger has. After any exception it is spent: it takes nothing more, for only the ledger tells then
    what was committed.
    """

    def __init__(self, resources: Resources, opened: Opened, publisher: Publisher) -> None:
        self._resources = resources
        self._progress = opened.progress
        self._topic = SameTopic(resources.topic, resources.warehouse, opened.topic_id)
        self.committed = 0
        self.verdicts = Counter[str]()
        self._publisher = publisher
        self._upkeep = Maintenance(resources, opened.compaction)
        self._lock = Lock()
        self._closed = False
        self._failure: BaseException | None = None
        self._write_ahead = WriteAhead(
            resources.warehouse, deduplicates=opened.remembered is not None, large=resources.large
        )
        self._deduplication = Deduplication(opened.remembered)
        self._guesses = Guesses(resources.large, pieces.room(heap_bytes(resources.spark)))
        self._erased = Notice(resources.warehouse, resources.spark)
        self._plan: Fold | None = None

    def positions(self) -> Mapping[int, int]:
        """The next offset to read, per partition that the topic has now: a query must be told of every one."""
        return self._topic.with_new_partitions(self._progress.positions)

    def take(self, records: DataFrame, ends: Mapping[int, int]) -> None:
        """One batch of Kafka rows, read up to `ends`; returns when it is committed.

        Raises Replaced if a newer service has taken over, and whatever made a batch or publishing fail for good.
        """
        if ends == self._progress.positions:  # a query begins with a batch even where there is nothing to read
            self.tick()
            return
        with self._turn() as is_open:
            if is_open:  # what is not taken is read again by the next start
                before = self._known(ends)
                with self._fold(records, before, ends) as folded:
                    log_ends = self._topic.high_watermarks(before.positions)
                    batch, after = before.after(folded.statistics, ends, log_ends, folded.now)
                    _refuse_flood(batch, after)
                    with self._resources.timed("write_ahead"):
                        self._write_ahead(folded, batch)
                committed_at = self._commit(batch, after, folded.ids)
                self._publish(batch)
                self._observe(batch, committed_at)

    def tick(self, silent: Collection[int] | None = None) -> None:
        """Takes a batch without records, in which time alone moves idleness and watermark. Raises what `take` raises.

        With `silent` these partitions, and no others, have been silent for the idle timeout.
        """
        with self._turn() as is_open:
            if is_open:
                log_ends, now = self._topic.high_watermarks(self._progress.positions), self._resources.now()
                before = self._progress if silent is None else self._progress.settled(silent, now)
                batch, after = before.after((), {}, log_ends, now)
                if batch.is_empty:
                    self._progress = after
                    self._resources.observer.advanced(batch.after)
                    return
                committed_at = self._commit(batch, after)
                self._publish(batch)
                self._observe(batch, committed_at)

    @property
    def frontier(self) -> Frontier:
        """The watermark and the partitions, as of the last batch."""
        return self._progress.frontier

    @property
    def open_windows(self) -> Mapping[str, int]:
        """The number of windows that have events and are not closed, by report."""
        return window_states.open_windows(self._progress.windows)

    def close(self) -> None:
        """Takes no further batch, after the one in hand."""
        with self._lock:
            self._closed = True

    @contextmanager
    def _turn(self) -> Iterator[bool]:
        """One batch or tick at a time, and none after one that failed; whether the service is open."""
        with self._lock, bound_contextvars(batch=self._progress.batch_id + 1):
            if self._failure is not None:
                raise self._failure
            try:
                self._publisher.check()
                yield not self._closed
            except BaseException as failure:
                self._failure = failure
                raise

    def _known(self, ends: Mapping[int, int]) -> Progress:
        """Where a batch begins, of which partitions may be new: Spark reads these from 0, or fails the query."""
        if ends.keys() <= self._progress.positions.keys():
            return self._progress
        return self._progress.with_partitions(ends, self._resources.now())

    @contextmanager
    def _fold(self, records: DataFrame, before: Progress, ends: Mapping[int, int]) -> Iterator[Folded]:
        """Step 1: the one pass over the records; another one where it met a schema that the registry tells then."""
        learned = True
        while learned:
            with self._pass(records, before, ends) as folded:
                learned = any(one.check == Check.SCHEMA_ID for one in folded.statistics) and (
                    self._resources.schemas.learn(folded.unknown_schemas, folded.now)
                )
                if not learned:
                    yield folded
            self._plan = None if learned else self._plan

    @contextmanager
    def _pass(self, records: DataFrame, before: Progress, ends: Mapping[int, int]) -> Iterator[Folded]:
        plan, known = self._plan_for(before), BatchContext(before.frontier.watermark, self._resources.now())
        with ExitStack() as kept:
            with self._resources.timed("fold"), ExitStack() as meanwhile:
                number = sum(end - before.positions.get(partition, end) for partition, end in ends.items())
                are_kept = self._guesses.are_many_rejected(number, lambda: plan.sample(records, known))
                keyed = plan.keyed(records, known, are_kept=are_kept)
                if are_kept:
                    kept.callback(keyed.persist().unpersist)
                told, ids = meanwhile.enter_context(self._deduplication(keyed, plan, before))
                folding, apart = plan.apart(told) if are_kept else (told, None)
                rows = plan.packed(folding)
                is_small = apart is None and self._guesses.is_small(number, len(plan.groupings.sets))
                taken = pieces.at_once(rows) if is_small else None
                if taken is None:
                    kept.callback(rows.persist().unpersist)
                    rows = plan.unpacked(rows)
                    statistics = [Statistic(*row) for row in plan.statistics(rows, known.now).collect()]
                else:
                    statistics = plan.statistics_of(taken, known.now)
            yield Folded(rows, plan, statistics, known.now, ids, apart, taken)

    def _plan_for(self, before: Progress) -> Fold:
        """The plan of the last batch, as long as what it depends on is the same."""
        erased, plan = self._erased(), self._plan
        if plan is None or plan.partitions != len(before.positions) or plan.erased is not erased:
            hidden = self._resources.pseudonyms
            hide = hiding(self._resources.spark, hidden) if hidden else None
            plan = Fold(self._resources.schemas.known, before.policy, len(before.positions), hide, erased)
            self._plan = plan
        return plan

    def _commit(self, batch: Batch, after: Progress, ids: Ids | None = None) -> int:
        """Step 3: the batch counts from here on, and so does what it led to; the time that the ledger has of it."""
        committed_at = self._resources.now()
        with self._resources.timed("commit"):
            self._resources.ledger.commit(batch.ledger_rows(committed_at))
        self._progress = after
        self._deduplication.committed(ids, after)
        self._guesses.committed(batch.tallies)
        self.committed += 1
        self.verdicts += batch.tallies.reasons()
        return committed_at

    def _publish(self, batch: Batch) -> None:
        """Step 4, beside the batches that follow."""
        if due(batch.firings):
            self._publisher.offer(batch.firings, batch.batch_id)
        if self._upkeep.wanted_after(batch):
            self._publisher.afterwards(self._upkeep.steps(batch), batch.batch_id)

    def _observe(self, batch: Batch, committed_at: int) -> None:
        """Step 5: metrics and the mirrored offsets, from what was committed."""
        self._resources.observer.committed(batch, committed_at)
        _log.info("batch_committed", **batch.summary(committed_at))
        self._resources.mirror.commit(batch.after.positions)
        self._resources.ledger.tidy()


def _refuse_flood(batch: Batch, after: Progress) -> None:
    """A wrong topic is told before it has become dead letters. Raises SetUpError."""
    if after.malformed.exceeded():
        details = {DETAILS[check]: number for check, number in batch.tallies.malformed.items()}
        raise SetUpError(limit_exceeded_message(after.malformed, details))
