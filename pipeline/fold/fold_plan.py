"""The plan of a fold: one pass over a batch gives the counts of all reports, the dead letters and the statistics.

Counted records are grouped by partition, pane and keys, for all sets of keys at once. A rejected record is a row of its
own, and further rows count all records. So one pass serves all outputs, and Kafka is read and decoded once. The rows
between the two halves of a fold are cached if the driver looks for duplicates among them, or if many records are likely
to be rejected and are read from the cache.
"""

from itertools import chain

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.arrival import ArrivalRows, ArrivalSpan, ArrivalState
from tidemark.pipeline.event_time.event_ids import Longs
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.tallies import Statistic
from tidemark.pipeline.fold import driver_chunks
from tidemark.pipeline.fold.arrival_judgement import Judgement
from tidemark.pipeline.fold.arrival_spec import STEP, arrival_spec
from tidemark.pipeline.fold.duplicates import REPEATED, with_repeated
from tidemark.pipeline.fold.erased_records import ErasedRecords
from tidemark.pipeline.fold.grouped_records import REJECTED_RECORD, GroupedRecords
from tidemark.pipeline.fold.grouping_sets import groupings
from tidemark.pipeline.fold.packed import GROUP, repacked, unpacked, unpacked_rows
from tidemark.pipeline.fold.pseudonym_columns import ToPseudonym
from tidemark.pipeline.fold.record_columns import BatchContext, RecordColumns
from tidemark.pipeline.fold.rejected_fields import POSITION, REJECTED, boxed, field_columns, unboxed
from tidemark.pipeline.fold.statistics import Sample, sample_of, statistic_columns, statistics_of
from tidemark.pipeline.runtime.pyspark_internals import Selection
from tidemark.pipeline.tuning import STANDARD
from tidemark.schemas.fields import EventSchemas


class FoldPlan:
    """The columns of a fold, built once: that takes as long as folding about ten thousand records."""

    def __init__(
        self,
        schemas: EventSchemas,
        policy: Policy,
        partitions: int,
        to_pseudonym: ToPseudonym | None = None,
        erased: ErasedRecords | None = None,
        chunk_bytes: int = STANDARD.chunk_bytes,
    ) -> None:
        """Plans to read the fields that every event needs and those that `policy` names; Kafka has `partitions`.

        `to_pseudonym` replaces users, and rejected records by what may be stored of them. Records of users in `erased`
        are rejected, and only their positions are stored. The driver takes rows in chunks of about `chunk_bytes`.
        If `policy` judges by arrival, `packed` needs the batch's span, and the driver judges what may be late by
        `judgement`. Raises SetUpError if `schemas` lack a field.
        """
        self.chunk_bytes = chunk_bytes
        self.partitions = partitions
        self._made_of = (schemas, policy, partitions, erased)
        self._to_pseudonym = to_pseudonym
        self.consumers = policy.consumers
        self.groupings = found = groupings(policy.consumers)
        self._policy = policy
        self._records = RecordColumns(schemas, policy, partitions, found, to_pseudonym, erased)
        self._grouped = GroupedRecords(found, policy.consumers, partitions, by_arrival=policy.by_arrival)
        names = [*found.keys, *found.sketches, c.RECORDS, c.MAX_EVENT_TIME, c.AGE_MS]
        of_arrival = [F.col(STEP), F.col(c.TIME)] if policy.by_arrival else []
        group = [F.col(c.GROUPING), F.col(GROUP), boxed()]
        self._packed = Selection([*group, *map(F.col, names), *self._grouped.part_columns, *of_arrival])
        numbers, unchanged = unpacked(found, partitions), map(F.col, [*names, *self._grouped.part_names])
        self._unpacked = Selection([F.col(c.GROUPING), *numbers, *field_columns(f"{REJECTED}[0]"), *unchanged])
        kind = F.lit(REJECTED_RECORD).alias(c.GROUPING)
        self._rejected = [F.col(POSITION), kind, *numbers, *field_columns(REJECTED)]
        self._ages, self._age_sums = statistic_columns(found)

    def adapted(
        self, schemas: EventSchemas, policy: Policy, partitions: int, erased: ErasedRecords | None
    ) -> "FoldPlan":
        """Returns this plan if it was made of these, else one that is."""
        if self._made_of == (schemas, policy, partitions, erased):
            return self
        return FoldPlan(schemas, policy, partitions, self._to_pseudonym, erased, self.chunk_bytes)

    @property
    def decoding_plan(self) -> str:
        """How a fold's records are decoded (see `Reader.plan`)."""
        return self._records.decoding_plan

    def fold(self, records: DataFrame, context: BatchContext) -> DataFrame:
        """Runs both halves of a fold, for decoded records without duplicates, and returns the unpacked rows.

        By arrival the records are those of one step, the first of a topic.
        """
        span = ArrivalSpan(ArrivalState({}), 1) if self._policy.by_arrival else None
        return self.unpacked(self.packed(self.keyed(records, context), span))

    def keyed(self, records: DataFrame, context: BatchContext, *, keeps_apart: bool = False) -> DataFrame:
        """Returns the first half: a row per decoded record, with its verdict and what the second half reads.

        `keeps_apart` adds what `split_rejected` reads.
        """
        return self._records.select(records, context, keeps_apart=keeps_apart)

    def sample(self, records: DataFrame, context: BatchContext) -> Sample:
        """Returns the share of rejected records and the bytes of rows among the first records."""
        return sample_of(self.keyed(records, context), self._grouped.rows_of_outputs, len(self._grouped.part_names))

    def mark_duplicates(self, keyed: DataFrame, positions: Longs) -> DataFrame:
        """Returns the first half with the records at `positions` as duplicates; they still move the watermark."""
        if not len(positions):
            return keyed
        is_first = F.col(REPEATED).isNull()
        changed = {GROUP: F.when(is_first, F.col(GROUP)).otherwise(repacked(self.groupings, self.partitions))}
        changed[REJECTED] = F.when(is_first, F.col(REJECTED))
        return with_repeated(keyed, positions).withColumns(changed)

    def packed(self, keyed: DataFrame, span: ArrivalSpan | None = None) -> DataFrame:
        """Returns the second half: the rows of `unpacked` in fewer and narrower columns, which are cached and sent.

        Flags, check, partition and pane are one number; the fields of a rejected record are a list of one struct.
        `span` is the batch's if records are judged by arrival.
        """
        arrival = None if span is None else arrival_spec(span, self._policy)
        return self._packed.apply(self._grouped.apply(keyed, arrival))

    def judgement(self, before: ArrivalState, rises: ArrivalRows) -> Judgement:
        """Returns the judgement by arrival of packed rows that the driver has, given the `rises` of the batch."""
        return Judgement(before, rises, self._policy, self.groupings)

    def unpacked(self, packed: DataFrame) -> DataFrame:
        """Returns a row per (grouping, flags, check, partition, pane, keys), per rejected record, and per statistic.

        Columns: the grouping key, `records` and the parts of the measures that reports use. Only statistics have
        `max_event_time` (of what may move the watermark) and `age_ms`.
        """
        return self._unpacked.apply(packed)

    def unpacked_rows(self, packed: pa.Table) -> pa.Table:
        """Unpacks rows that the driver has, like `unpacked`."""
        return unpacked_rows(unboxed(packed), self.groupings, self.partitions)

    def split_rejected(self, keyed: DataFrame) -> tuple[DataFrame, DataFrame]:
        """Returns a first half without fields of rejected records, and the rejected records as `unpacked` has them."""
        no_record = F.lit(None).cast(keyed.schema[REJECTED].dataType)
        rejected = keyed.where(F.col(REJECTED).isNotNull()).select(*self._rejected)
        return keyed.withColumn(REJECTED, no_record), rejected

    def spark_statistics(self, unpacked: DataFrame) -> DataFrame:
        """Returns the columns of `Statistic`: `records` and `max_event_time` by partition, check, pane and age.

        A last row has the records and bytes of the groups.
        """
        return unpacked.groupBy(*self._ages).agg(*self._age_sums)

    def driver_statistics(self, packed: pa.Table) -> list[Statistic]:
        """Computes `spark_statistics` of packed rows on the driver, slice by slice: a group may occur several times."""
        slices = driver_chunks.slices(packed, self.chunk_bytes)
        return [*chain.from_iterable(statistics_of(rows, self.groupings, self.partitions) for rows in slices)]
