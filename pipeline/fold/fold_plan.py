"""The fold: one pass over a batch gives the counts of every report, dead letters and every number the ledger needs.

Counted records fold into one row per partition, pane and key, once for each set of keys. A rejected record keeps a row
of its own, because its offset and bytes are part of the first grouping key too; they are null for counted ones. So one
hash aggregation serves all outputs, and the Kafka range is read and decoded once. Where events are deduplicated, the
records are kept between the two halves of a fold, in which the driver tells which of them are duplicates; and where
many are likely to be rejected, those that are come from what is kept there.
"""

from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline import columns as c
from pipeline.event_time import lateness, rules
from pipeline.event_time.checks import Check
from pipeline.event_time.event_ids import Longs
from pipeline.event_time.policy import Policy
from pipeline.event_time.tallies import Statistic
from pipeline.fold import driver_chunks
from pipeline.fold.decode import reader
from pipeline.fold.duplicates import REPEATED, id_columns, record_position, require_event_id, told_repeated
from pipeline.fold.erased_records import ErasedRecords
from pipeline.fold.grouping_sets import KEYS, groupings
from pipeline.fold.judge import check_of, readable, time_of
from pipeline.fold.packed import GROUP, packed, repacked, unpacked, unpacked_rows
from pipeline.fold.pseudonym_columns import ToPseudonym, require_one_name, stored_bytes
from pipeline.fold.rejected_records import OF_REJECTED, POSITION, REJECTED, boxed, of_rejected, unboxed
from pipeline.fold.selection import Selection
from pipeline.fold.statistics import NOW, Sample, sample_of, statistics, statistics_of
from pipeline.measures import Join
from schemas.fields import EventSchemas

_OF_PERSON: Final = (c.KEY, c.VALUE, c.EVENT_TIME)
_PARTLY_LATE: Final = "partly_late_before"
_SET: Final = "set"
_TOO_LATE: Final = "too_late_before"
_TOLD: Final = (c.WATERMARK, _TOO_LATE, _PARTLY_LATE, NOW)
"""The columns that are the same in all of a batch."""


@dataclass(frozen=True, slots=True)
class BatchContext:
    """The watermark and the clock when a batch begins, both in milliseconds."""

    watermark: int | None
    now: int


class FoldPlan:
    """The plan of a fold over a number of Kafka partitions.

    Its columns are built once, for that takes as long as folding some ten thousand records.
    """

    def __init__(
        self,
        schemas: EventSchemas,
        policy: Policy,
        partitions: int,
        hide: ToPseudonym | None = None,
        erased: ErasedRecords | None = None,
    ) -> None:
        """Of `schemas` it reads what every event needs, and the fields that `policy` names.

        With `hide` users are their pseudonyms, and of a rejected record there is what `stored_bytes` tells. Records of users
        that `erased` tells are rejected, whatever they are, and nothing of them is kept but where they were.
        """
        self.erased = erased
        self.partitions = partitions
        self.consumers = policy.consumers
        self.groupings = groupings(policy.consumers)
        self._reports = policy.reports
        self._keys = sorted({key for keys in self.groupings.sets for key in keys})
        self._by = [GROUP, *self._keys, REJECTED]
        first, *others = ([GROUP, *keys] for keys in self.groupings.sets)
        self._sets = [[*first, REJECTED], *others]
        kafka = [F.col(name) for name in (c.KEY, c.VALUE, c.PARTITION, c.OFFSET)]
        arrived = F.unix_millis("timestamp").alias(c.KAFKA_TIMESTAMP)
        ids = id_columns() if policy.deduplicate else []
        if ids:
            require_event_id(schemas)
        needed = [policy.strategy.marker, *self.groupings.flags, *self._keys]
        needed += [*(KEYS if hide else ()), *([c.EVENT_ID] if ids else ())]
        events = reader(schemas, " ".join(needed))
        self._users = hide or (lambda user: user)
        if hide:
            require_one_name(schemas.texts.values(), events.names)
        self._bytes = stored_bytes(events.names, hide) if hide else {}
        self._decoded = [*kafka, arrived, events.decoded]
        self._decoded_of_noise = [*kafka, arrived, events.decoded_of_noise]
        self._flat = Selection([*kafka, F.col(c.KAFKA_TIMESTAMP), *events.columns, *map(F.col, _TOLD)])
        time = time_of(policy, F.col(NOW))
        check = check_of(schemas.texts, policy, _late(policy, time), F.col(NOW))
        check = erased.check(check) if erased else check
        self._judged = Selection([F.col("*"), time.alias(c.TIME), check.alias(c.CHECK)])
        keyed = [*self._key(), *_summed(policy), *ids]
        position = F.when(F.col(c.CHECK) != int(Check.PASSED), record_position()).alias(POSITION)
        self._keyed, self._kept = Selection(keyed), Selection([*keyed, position])
        sums, parts = _sums(policy), unpacked(self.groupings, partitions)
        of_set = {_SET: F.grouping_id()} if len(self._sets) > 1 else {}
        self._sums = [value.alias(name) for name, value in (sums | of_set).items()]
        same = [F.col(name) for name in (*self._keys, *sums)]
        self._packed = Selection([self._grouping(), F.col(GROUP), boxed(), *same])
        self._unpacked = Selection([F.col(c.GROUPING), *parts, *of_rejected(f"{REJECTED}[0]"), *same])
        self._apart = [F.col(POSITION), F.lit(0).alias(c.GROUPING), *parts, *of_rejected(REJECTED)]
        self._ages, self._of_age = statistics(self._keys)

    def fold(self, records: DataFrame, known: BatchContext) -> DataFrame:
        """Both halves of a fold, where none is a duplicate."""
        return self.unpacked(self.packed(self.keyed(records, known)))

    def keyed(self, records: DataFrame, known: BatchContext, *, keeps_apart: bool = False) -> DataFrame:
        """The first half: a row for each record, with its verdict and what the second half needs of it.

        Those that `keeps_apart`, for most of them are likely to be rejected, have what `apart` needs, too.
        """
        told = (rules.as_number(known.watermark), *lateness.cutoffs(self._reports, known.watermark), known.now)
        per_batch = [self._per_batch(value).alias(name) for name, value in zip(_TOLD, told, strict=True)]
        decoded = self._decoded_of_noise if keeps_apart else self._decoded
        events = self._flat.apply(records.select(*decoded, *per_batch))
        if self.erased:
            events = self.erased.mark(events, self._users)
        return (self._kept if keeps_apart else self._keyed).apply(self._judged.apply(events))

    def sample(self, records: DataFrame, known: BatchContext) -> Sample:
        """What its first records are like."""
        return sample_of(self.keyed(records, known), self._keys)

    def mark_duplicates(self, keyed: DataFrame, repeated: Longs) -> DataFrame:
        """The same rows, of which those at some record positions are duplicates; they still move the watermark."""
        if not len(repeated):
            return keyed
        is_first = F.col(REPEATED).isNull()
        changed = {GROUP: F.when(is_first, F.col(GROUP)).otherwise(repacked(self.groupings, self.partitions))}
        # Without keys they are a row for each partition.
        changed |= {name: F.when(is_first, F.col(name)) for name in (*self._keys, REJECTED)}
        return told_repeated(keyed, repeated).withColumns(changed)

    def packed(self, keyed: DataFrame) -> DataFrame:
        """The second half: the rows of `unpacked`, in fewer and narrower columns, for each is kept and sent.

        Flags, check, partition and pane are one number, and what is kept of a rejected record is a list of one.
        """
        grouped = keyed.groupingSets(self._sets, *self._by) if len(self._sets) > 1 else keyed.groupBy(*self._by)
        return self._packed.apply(grouped.agg(*self._sums))

    def unpacked(self, packed: DataFrame) -> DataFrame:
        """One row per (grouping, flags, check, partition, pane, keys) of counted records, and one per rejected record.

        Columns: the grouping key, `records`, `max_event_time` (of what may move the watermark), `oldest` (lowest Kafka
        timestamp) and the parts of measures that somebody asks for.
        """
        return self._unpacked.apply(packed)

    def unpacked_rows(self, packed: pa.Table) -> pa.Table:
        """The same of rows that the driver has."""
        return unpacked_rows(unboxed(packed), self.groupings, self.partitions)

    def split_rejected(self, keyed: DataFrame) -> tuple[DataFrame, DataFrame]:
        """Rows that are kept, without what there is of each rejected record; and that, as `unpacked` would have it."""
        nothing = F.lit(None).cast(keyed.schema[REJECTED].dataType)
        return keyed.withColumn(REJECTED, nothing), keyed.where(F.col(REJECTED).isNotNull()).select(*self._apart)

    def spark_statistics(self, folded: DataFrame, now: int) -> DataFrame:
        """Per grouping, partition, check, pane and age: `records`, `max_event_time` and `bytes` of the folded rows.

        `age_ms` is a rough age of the records at `now`: lowest Kafka timestamp of a user in a pane.
        """
        return folded.withColumn(NOW, self._per_batch(now)).groupBy(*self._ages).agg(*self._of_age)

    def driver_statistics(self, packed: pa.Table, now: int) -> list[Statistic]:
        """The same of packed rows that the driver has, chunk by chunk: what is alike may be told several times."""
        grid, partitions = self.groupings, self.partitions
        return [
            one
            for part in driver_chunks.slices(packed)
            for one in statistics_of(part, self._keys, now, grid, partitions)
        ]

    def _grouping(self) -> Column:
        """The number of the set that a row belongs to."""
        if len(self._sets) == 1:
            return F.lit(0).alias(c.GROUPING)
        # Spark's id of a set: one bit for each column, set where the set does not have it.
        bits = {name: 1 << place for place, name in enumerate(reversed(self._by))}
        ids = [sum(bit for name, bit in bits.items() if name not in names) for names in self._sets]
        return (F.array_position(F.lit(ids), F.col(_SET)) - 1).cast("int").alias(c.GROUPING)

    def _key(self) -> list[Column]:
        check, grid = F.col(c.CHECK), self.groupings
        pane = F.expr(f"({c.TIME} + {grid.shift_ms}) div {grid.pane_ms}")
        pane = F.when(check <= int(Check.PARTLY_LATE), pane).otherwise(0)
        rejected = check != int(Check.PASSED)
        kept = {name: self._bytes.get(name, F.col(name)) for name in OF_REJECTED[:-1]}
        kept["user"] = self._users(readable(c.USER_ID))
        if self.erased:
            # Of a record of such a user there is its place, and nothing else.
            kept |= {name: F.when(check != int(Check.ERASED), kept[name]) for name in (*_OF_PERSON, "user")}
        own = {c.RECORD_POSITION: record_position(), c.USER_ID: self._users(F.col(c.USER_ID)).alias(c.USER_ID)}
        return [
            packed(pane, self.partitions, grid.flags).alias(GROUP),
            *(own.get(key, F.col(key)) for key in self._keys),
            F.when(rejected, F.struct(*(value.alias(name) for name, value in kept.items()))).alias(REJECTED),
        ]

    def _per_batch(self, value: int) -> Column:
        """A value that changes from batch to batch, as a column.

        A primitive literal would be inlined in the generated code, so every batch would compile new classes and run
        them cold; an array literal is passed by reference.
        """
        return F.expr(f"get(array_repeat({value}L, {self.partitions}), {c.PARTITION})")


def _late(policy: Policy, time: Column) -> dict[Check, Column]:
    """The checks against the cutoffs; where no event can be late for some windows only, one is enough."""
    froms = {Check.TOO_LATE: _TOO_LATE, Check.PARTLY_LATE: _PARTLY_LATE}
    checks = {check: lateness.is_too_late(time, F.col(name)) for check, name in froms.items()}
    kinds = {(report.windows, report.allowed_lateness_ms, report.closed_before_ms) for report in policy.reports}
    if len(kinds) == 1 and not policy.reports[0].windows.has_overlap:
        del checks[Check.PARTLY_LATE]
    return checks


def _summed(policy: Policy) -> list[Column]:
    """The columns that the sums read."""
    moves = F.col(c.CHECK) <= int(Check.TOO_LATE)
    if policy.strategy.marker:
        moves &= F.expr(policy.strategy.marker)
    return [
        (F.col(c.EVENT_TYPE) == "click").cast("long").alias("click"),
        F.when(moves, F.col(c.TIME)).alias("moving_time"),
        F.col(c.KAFKA_TIMESTAMP).alias("arrived"),
        F.col(c.TIME),
    ]


def _sums(policy: Policy) -> dict[str, Column]:
    parts = (part for one in policy.consumers for part in one.parts if part.join is not Join.SKETCH)
    return {
        c.RECORDS: F.count(F.lit(1)),
        c.MAX_EVENT_TIME: F.max("moving_time"),
        c.OLDEST: F.min("arrived"),
        **{part.name: F.expr(part.fold) for part in dict.fromkeys(parts)},
    }
