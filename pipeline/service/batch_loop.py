"""A batch in five steps: fold, write ahead, commit, publish, observe.

Publication runs beside the batches that follow, in order; nothing is committed before what it stands on, and nothing is
taken for done before it is committed.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock

import structlog
from pyspark.sql import DataFrame
from structlog.contextvars import bound_contextvars

from pipeline.errors import SetUpError
from pipeline.event_time.batch import Batch
from pipeline.event_time.checks import DETAILS
from pipeline.event_time.event_ids import Ids
from pipeline.event_time.malformed import sentence
from pipeline.event_time.progress import Progress
from pipeline.service.fold_step import FoldStep
from pipeline.service.maintenance import Maintenance
from pipeline.service.publisher import Publisher
from pipeline.service.recovery import Opened
from pipeline.service.resources import Resources
from pipeline.service.same_topic import SameTopic
from pipeline.service.write_ahead import WriteAhead

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
        self._publisher = publisher
        self._upkeep = Maintenance(resources, opened.compaction)
        self._lock = Lock()
        self._closed = False
        self._failure: BaseException | None = None
        self._write_ahead = WriteAhead(
            resources.warehouse, deduplicates=opened.remembered is not None, large=resources.large
        )
        self._fold_step = FoldStep(resources, opened.remembered)

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
                with self._fold_step.fold(records, before, ends) as folded:
                    log_ends = self._topic.high_watermarks(before.positions)
                    batch, after = before.after(folded.result.statistics, ends, log_ends, folded.now)
                    _refuse_flood(batch, after)
                    with self._resources.timed("write_ahead"):
                        self._write_ahead.write(folded.result, folded.ids, batch)
                committed_at = self._commit(batch, after, folded.ids)
                self._publish(batch)
                self._observe(batch, committed_at)

    def tick(self) -> None:
        """A batch without records, in which time alone moves idleness and watermark. Raises what `take` raises."""
        with self._turn() as is_open:
            if is_open:
                log_ends = self._topic.high_watermarks(self._progress.positions)
                batch, after = self._progress.after((), {}, log_ends, self._resources.now())
                if batch.is_empty:
                    self._progress = after
                    self._resources.observer.advanced(batch.after)
                    return
                committed_at = self._commit(batch, after)
                self._publish(batch)
                self._observe(batch, committed_at)

    def close(self) -> None:
        """Takes no further batch, after the one in hand."""
        with self._lock:
            self._closed = True

    @contextmanager
    def _turn(self) -> Iterator[bool]:
        """One batch or tick at a time, and none after one that failed; whether the service is open."""
        with self._lock, bound_contextvars(batch=self._progress.number + 1):
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

    def _commit(self, batch: Batch, after: Progress, ids: Ids | None = None) -> int:
        """Step 3: the batch counts from here on, and so does what it led to; the time that the ledger has of it."""
        committed_at = self._resources.now()
        with self._resources.timed("commit"):
            self._resources.ledger.commit(batch.ledger_rows(committed_at))
        self._progress = after
        self._fold_step.committed(ids, batch.tallies, after)
        self.committed += 1
        return committed_at

    def _publish(self, batch: Batch) -> None:
        """Step 4, beside the batches that follow."""
        if any(batch.firings.values()):
            self._publisher.offer(batch.firings, batch.number)
        if self._upkeep.wanted_after(batch):
            self._publisher.afterwards(self._upkeep.steps(batch), batch.number)

    def _observe(self, batch: Batch, committed_at: int) -> None:
        """Step 5: metrics and the mirrored offsets, from what was committed."""
        self._resources.observer.committed(batch, committed_at)
        _log.info("batch committed", **batch.summary(committed_at))
        self._resources.mirror.commit(batch.after.positions)
        self._resources.ledger.tidy()


def _refuse_flood(batch: Batch, after: Progress) -> None:
    """A wrong topic is told before it has become dead letters. Raises SetUpError."""
    if after.malformed.exceeded():
        details = {DETAILS[check]: number for check, number in batch.tallies.malformed.items()}
        raise SetUpError(sentence(after.malformed, details))
