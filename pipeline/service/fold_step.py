"""Step 1 of a batch: the only pass over its records, with guesses and event ids from earlier batches."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.event_time.event_ids import Ids, RememberedIds
from tidemark.pipeline.event_time.progress import Progress
from tidemark.pipeline.event_time.tallies import Tallies
from tidemark.pipeline.fold import driver_chunks
from tidemark.pipeline.fold.fold_plan import FoldPlan
from tidemark.pipeline.fold.fold_result import FoldResult, InSpark, JudgedInSpark, OnDriver
from tidemark.pipeline.fold.record_columns import BatchContext
from tidemark.pipeline.kafka.ranges import TopicRanges
from tidemark.pipeline.runtime.java_process import heap_bytes
from tidemark.pipeline.service.deduplication import Deduplication
from tidemark.pipeline.service.erasure_notice import ErasureNotice
from tidemark.pipeline.service.guesses import Guesses
from tidemark.pipeline.service.resources import Resources


@dataclass(frozen=True, slots=True)
class FoldedBatch:
    """The result of a fold, with the clock at the start of the batch in milliseconds since 1970."""

    result: FoldResult
    now: int
    ids: Ids | None
    """The ids of the counted events; None if events are not deduplicated."""


class FoldStep:
    """Folds batch after batch; reuses the plan until schemas, policy, partitions or erased users change."""

    def __init__(self, resources: Resources, remembered: RememberedIds | None) -> None:
        """`remembered` are the event ids that the tables have; None if events are not deduplicated."""
        self._resources = resources
        self._deduplication = Deduplication(remembered)
        room = driver_chunks.driver_room(heap_bytes(resources.spark))
        self._guesses = Guesses(resources.large, room, resources.tuning.large_batch_records)
        self._erased = ErasureNotice(resources.warehouse, resources.spark)
        self._plan = resources.plan

    @contextmanager
    def fold(self, records: TopicRanges, before: Progress) -> Iterator[FoldedBatch]:
        """Folds the records of a batch; again if the registry supplies a missing schema.

        The result can be read until the context is left.
        """
        has_learned = True
        while has_learned:
            with self._pass(records, before) as folded:
                has_learned = any(row.check == Check.SCHEMA_ID for row in folded.result.statistics) and (
                    self._resources.schemas.learn(folded.result.unknown_schema_ids, folded.now)
                )
                if not has_learned:
                    yield folded

    def committed(self, ids: Ids | None, tallies: Tallies, after: Progress) -> None:
        """Takes note of a committed batch: the ids of its counted events, its tallies and the progress after it."""
        self._deduplication.committed(ids, after)
        self._guesses.committed(tallies)

    @contextmanager
    def _pass(self, ranges: TopicRanges, before: Progress) -> Iterator[FoldedBatch]:
        plan, context = self._plan_for(before), BatchContext(before.frontier.watermark, self._resources.now())
        span = before.frontier.span(ranges.until)
        with ExitStack() as until_written:
            with self._resources.timed("fold"), ExitStack() as until_folded:
                count = sum(end - before.positions.get(partition, end) for partition, end in ranges.ends.items())
                records = ranges.read(plan.decoding_plan)
                keeps_apart = span is None and self._guesses.are_many_rejected(
                    count, lambda: plan.sample(records, context)
                )
                keyed = plan.keyed(records, context, keeps_apart=keeps_apart)
                if keeps_apart:
                    until_written.callback(keyed.persist().unpersist)
                marked, ids = until_folded.enter_context(self._deduplication.mark(keyed, plan, before))
                counted, rejected = plan.split_rejected(marked) if keeps_apart else (marked, None)
                packed = plan.packed(counted, span)
                is_small = not keeps_apart and self._guesses.is_small(count, len(plan.groupings.sets))
                rows = driver_chunks.collect(packed) if is_small else None
                if rows is not None:
                    result: FoldResult = OnDriver(plan, rows, span)
                else:
                    until_written.callback(packed.persist().unpersist)
                    result = InSpark(plan, packed, rejected) if span is None else JudgedInSpark(plan, packed, span)
            yield FoldedBatch(result, context.now, ids)

    def _plan_for(self, before: Progress) -> FoldPlan:
        self._plan = self._plan.adapted(
            self._resources.schemas.known, before.policy, len(before.positions), self._erased.refresh()
        )
        return self._plan
