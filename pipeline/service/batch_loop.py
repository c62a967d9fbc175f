"""A batch in five steps: fold, write ahead, commit, publish, observe.

Publications run in order while later batches are processed. Rows are written before the commit that needs them, and no
step counts as done before its commit.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock

import structlog
from structlog.contextvars import bound_contextvars

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time import window_states
from tidemark.pipeline.event_time.arrival import NO_ROWS, settled_before
from tidemark.pipeline.event_time.batch import Batch
from tidemark.pipeline.event_time.event_ids import Ids
from tidemark.pipeline.event_time.malformed import limit_exceeded_message
from tidemark.pipeline.event_time.progress import Progress
from tidemark.pipeline.event_time.watermark import Frontier
from tidemark.pipeline.event_time.window_states import due
from tidemark.pipeline.fold.fold_result import FoldResult
from tidemark.pipeline.kafka.ranges import TopicRanges
from tidemark.pipeline.service.fold_step import FoldStep
from tidemark.pipeline.service.maintenance import Maintenance
from tidemark.pipeline.service.publisher import Publisher
from tidemark.pipeline.service.recovery import OpenedEpoch
from tidemark.pipeline.service.resources import Resources
from tidemark.pipeline.service.same_topic import SameTopic
from tidemark.pipeline.service.write_ahead import WriteAhead

_log = structlog.get_logger()


class Service:
    """Processes batches one after another, from Kafka rows to tables.

    Its progress is that of the ledger. After any exception it accepts no batch, because it may have missed a commit.
    """

    def __init__(self, resources: Resources, opened: OpenedEpoch, publisher: Publisher) -> None:
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
            resources.warehouse,
            resources.schemas.unusable,
            deduplicates=opened.remembered is not None,
            large=resources.large,
        )
        self._fold_step = FoldStep(resources, opened.remembered)

    def positions(self) -> Mapping[int, int]:
        """Returns the next offset per partition. All partitions of the topic are listed, or Spark refuses the query."""
        return self._topic.with_new_partitions(self._progress.positions)

    def take(self, records: TopicRanges) -> None:
        """Processes a batch; returns when it is committed.

        Raises Replaced if a newer service has taken over, and the error of an earlier batch or publication that failed.
        """
        ends = records.ends
        if ends == self._progress.positions:  # a query starts with a batch even if there is nothing to read
            self.tick()
            return
        with self._turn() as is_open:
            if is_open:  # the next start reads other batches again
                before = self._with_new_partitions(ends)
                with self._fold_step.fold(records, before) as folded:
                    log_ends = self._topic.high_watermarks(before.positions)
                    arrivals = before.frontier.arrivals(folded.result.rises, records.until, folded.result.unsettled)
                    batch, after = before.after(folded.result.statistics, ends, log_ends, folded.now, arrivals)
                    self._refuse_flood(batch, after, folded.result)
                    with self._resources.timed("write_ahead"):
                        self._write_ahead.write(folded.result, folded.ids, batch)
                committed_at = self._commit(batch, after, folded.ids)
                self._publish(batch)
                self._observe(batch, committed_at)

    def tick(self, silent: Collection[int] | None = None) -> None:
        """Takes a batch without records, in which time alone moves idleness and watermark. Raises what `take` raises.

        With `silent` these partitions, and no others, have been silent for the idle timeout; by arrival, the records
        themselves say so.
        """
        with self._turn() as is_open:
            if is_open:
                now = self._resources.now()
                log_ends = self._topic.high_watermarks(self._progress.positions)
                before = self._progress if silent is None else self._progress.settled(silent, now)
                # Records that come after the ends were asked for arrive later.
                is_read = all(before.positions.get(partition, 0) >= end for partition, end in log_ends.items())
                arrivals = before.frontier.arrivals(NO_ROWS, settled_before(now, before.policy) if is_read else 0)
                batch, after = before.after((), {}, log_ends, now, arrivals)
                if batch.is_empty:
                    self._progress = after
                    self._resources.observer.advanced(batch.after)
                    return
                committed_at = self._commit(batch, after)
                self._publish(batch)
                self._observe(batch, committed_at)

    def end_input(self) -> None:
        """Takes the watermark to the end of input: all windows fire and close. Raises what `take` raises."""
        with self._turn() as is_open:
            if is_open:
                batch, after = self._progress.ended(self._resources.now())
                if not batch.is_empty:
                    committed_at = self._commit(batch, after)
                    self._publish(batch)
                    self._observe(batch, committed_at)

    @property
    def frontier(self) -> Frontier:
        """The watermark and the partitions, as of the last batch."""
        return self._progress.frontier

    @property
    def arrived_before(self) -> int | None:
        """The time in ms before which all records have been read; None if records are judged by batch."""
        return self._progress.frontier.arrived_before

    @property
    def open_windows(self) -> Mapping[str, int]:
        """The number of windows that have events and are not closed, by report."""
        return window_states.open_windows(self._progress.windows)

    @property
    def unfired_windows(self) -> Mapping[str, int]:
        """The number of windows that have events and have not fired, by report."""
        return window_states.unfired_windows(self._progress.windows, self.frontier.watermark)

    def close(self) -> None:
        """Waits for the current batch and accepts no other."""
        with self._lock:
            self._closed = True

    @contextmanager
    def _turn(self) -> Iterator[bool]:
        """Yields whether the service is open, to one batch or tick at a time; raises the error of one that failed."""
        with self._lock, bound_contextvars(batch=self._progress.batch_id + 1):
            if self._failure is not None:
                raise self._failure
            try:
                self._publisher.check()
                yield not self._closed
            except BaseException as failure:
                self._failure = failure
                raise

    def _with_new_partitions(self, ends: Mapping[int, int]) -> Progress:
        """Returns the progress with the new partitions of `ends`: Spark reads them from 0, or fails the query."""
        if ends.keys() <= self._progress.positions.keys():
            return self._progress
        return self._progress.with_partitions(ends, self._resources.now())

    def _refuse_flood(self, batch: Batch, after: Progress, folded: FoldResult) -> None:
        """Raises SetUpError if most records are malformed, before a wrong topic becomes dead letters."""
        if after.malformed.exceeded():
            counts, schemas = batch.tallies.malformed_details(), self._resources.schemas
            details = schemas.with_reasons(counts, folded.unknown_schema_ids)
            raise SetUpError(limit_exceeded_message(after.malformed, details))

    def _commit(self, batch: Batch, after: Progress, ids: Ids | None = None) -> int:
        """Step 3: commits the batch and adopts the progress `after` it; returns the commit's time in milliseconds."""
        committed_at = self._resources.now()
        with self._resources.timed("commit"):
            self._resources.ledger.commit(batch.ledger_rows(committed_at))
        self._progress = after
        self._fold_step.committed(ids, batch.tallies, after)
        self.committed += 1
        self.verdicts += batch.tallies.reasons()
        return committed_at

    def _publish(self, batch: Batch) -> None:
        """Step 4: hands due windows and maintenance to the publisher's thread."""
        if due(batch.firings):
            self._publisher.add(batch.firings, batch.batch_id)
        if self._upkeep.wanted_after(batch):
            self._publisher.afterwards(self._upkeep.steps(batch), batch.batch_id)

    def _observe(self, batch: Batch, committed_at: int) -> None:
        """Step 5: reports a committed batch to metrics, log and Kafka's consumer group."""
        self._resources.observer.committed(batch, committed_at)
        _log.info("batch_committed", **batch.summary(committed_at))
        self._resources.mirror.commit(batch.after.positions)
        self._resources.ledger.tidy()
