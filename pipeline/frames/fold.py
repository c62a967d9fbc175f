"""The fold: one pass over a batch gives counts, dead letters and every number the ledger needs.

Counted records fold into one row per (partition, pane, user). A rejected record keeps a row of its own, because its
offset and bytes are part of the grouping key too; they are null for counted ones. So one hash aggregation serves all
outputs, and the Kafka range is read and decoded once.
"""

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.frames import columns as c
from pipeline.frames.checks import Check
from pipeline.frames.decode import decoded
from pipeline.frames.judge import check_of, time_of
from pipeline.time import rules
from pipeline.time.grid import Grid
from pipeline.time.verdicts import Policy

_OF_REJECTED: Final = (c.OFFSET, c.KEY, c.VALUE, c.KAFKA_TIMESTAMP, c.EVENT_TIME)
_EVENT: Final = "event"
_GROUP: Final = "packed"
_NOW: Final = "now"
_REJECTED: Final = "rejected"
_CHECKS: Final = 16
"""More than there are checks."""
_YOUNG_MS: Final = 10_000
_ROW_BYTES: Final = 100


@dataclass(frozen=True, slots=True)
class Known:
    """What is known when a batch begins: the watermark and the clock, both in milliseconds."""

    watermark: int | None
    now: int


class Fold:
    """The plan of a fold over a number of Kafka partitions.

    Its columns are built once, for that takes as long as folding some ten thousand records.
    """

    def __init__(self, schemas: Mapping[int, str], policy: Policy, partitions: int) -> None:
        """`schemas` maps a schema id to the writer schema's text, beside which `policy` may need further fields."""
        self.partitions = partitions
        kafka = [c.KEY, c.VALUE, c.PARTITION, c.OFFSET]
        arrived = F.unix_millis("timestamp").alias(c.KAFKA_TIMESTAMP)
        self._decoded = [*kafka, arrived, decoded(schemas, policy.marker).alias(_EVENT)]
        self._flat = [F.col(name) for name in (*kafka, c.KAFKA_TIMESTAMP, f"{_EVENT}.*", c.WATERMARK, _NOW)]
        time = time_of(policy, F.col(_NOW))
        check = check_of(schemas, policy, time, F.col(c.WATERMARK))
        self._judged: list[Column] = [F.col("*"), time.alias(c.TIME), check.alias(c.CHECK)]
        self._keyed = _keyed(policy, partitions)
        self._sums = [
            F.count(F.lit(1)).alias(c.RECORDS),
            F.sum("click").alias(c.CLICKS),
            F.max("moving_time").alias(c.MAX_EVENT_TIME),
            F.min("arrived").alias(c.OLDEST),
        ]
        of_rejected = [F.col(f"{_REJECTED}.{name}").alias(name) for name in _OF_REJECTED]
        sums = (c.RECORDS, c.CLICKS, c.MAX_EVENT_TIME, c.OLDEST)
        others = [F.col(name) for name in sums]
        self._folded = [*_unpacked(policy.grid, partitions), F.col(c.USER_ID), *of_rejected, *others]
        self._ages, self._of_age = _statistics()

    def __call__(self, records: DataFrame, known: Known) -> DataFrame:
        """One row per (check, partition, pane, user) of counted records, and one per rejected record.

        Columns: the grouping key, `records`, `clicks`, `max_event_time` (of what may move the watermark) and `oldest`
        (lowest Kafka timestamp).
        """
        watermark = rules.NO_WATERMARK if known.watermark is None else known.watermark
        told = [self._per_batch(watermark).alias(c.WATERMARK), self._per_batch(known.now).alias(_NOW)]
        judged = records.select(*self._decoded, *told).select(*self._flat).select(*self._judged)
        groups = judged.select(*self._keyed).groupBy(_GROUP, c.USER_ID, _REJECTED).agg(*self._sums)
        return groups.select(*self._folded)

    def statistics(self, folded: DataFrame, now: int) -> DataFrame:
        """Per partition, check, pane and age: `records`, `max_event_time`, and the `bytes` of the folded rows.

        `age_ms` is a rough age of the records at `now`: lowest Kafka timestamp of a user in a pane.
        """
        return folded.withColumn(_NOW, self._per_batch(now)).groupBy(*self._ages).agg(*self._of_age)

    def _per_batch(self, value: int) -> Column:
        """A value that changes from batch to batch, as a column.

        A primitive literal would be inlined in the generated code, so every batch would compile new classes and run
        them cold; an array literal is passed by reference.
        """
        return F.expr(f"get(array_repeat({value}L, {self.partitions}), {c.PARTITION})")


def _keyed(policy: Policy, partitions: int) -> list[Column]:
    """The grouping key, and what is summed up."""
    rejected, time = F.col(c.CHECK) != int(Check.PASSED), F.col(c.TIME)
    moves = F.col(c.CHECK) <= int(Check.TOO_LATE)
    if policy.marker:
        moves &= F.expr(policy.marker)
    return [
        _packed(F.when(~rejected, time).otherwise(0), policy.grid, partitions).alias(_GROUP),
        F.col(c.USER_ID),
        F.when(rejected, F.struct(*_OF_REJECTED)).alias(_REJECTED),
        (F.col(c.EVENT_TYPE) == "click").cast("long").alias("click"),
        F.when(moves, time).alias("moving_time"),
        F.col(c.KAFKA_TIMESTAMP).alias("arrived"),
    ]


def _packed(time: Column, grid: Grid, partitions: int) -> Column:
    """Pane, partition and check in one number: the narrower the grouping key, the cheaper each look-up."""
    pane: Column = ((grid.pane_start(time) + grid.shift_ms) / grid.pane_ms).cast("long")
    return (pane * partitions + F.col(c.PARTITION)) * _CHECKS + F.col(c.CHECK)


def _unpacked(grid: Grid, partitions: int) -> list[Column]:
    check = (F.col(_GROUP) % _CHECKS).cast("int")
    rest = F.expr(f"{_GROUP} div {_CHECKS}")
    pane = F.expr(f"{_GROUP} div {_CHECKS * partitions}") * grid.pane_ms - grid.shift_ms
    return [
        check.alias(c.CHECK),
        (rest % partitions).cast("int").alias(c.PARTITION),
        F.when(check == int(Check.PASSED), pane).alias(c.PANE_START),
    ]


def _statistics() -> tuple[list[Column], list[Column]]:
    """Grouping key and sums."""
    size = reduce(operator.add, [F.coalesce(F.length(name), F.lit(0)) for name in (c.USER_ID, c.KEY, c.VALUE)])
    age = _rough(F.col(_NOW) - F.col(c.OLDEST))
    return [F.col(c.PARTITION), F.col(c.CHECK), F.col(c.PANE_START), age.alias(c.AGE_MS)], [
        F.sum(c.RECORDS).alias(c.RECORDS),
        F.max(c.MAX_EVENT_TIME).alias(c.MAX_EVENT_TIME),
        F.sum(size + _ROW_BYTES).alias("bytes"),
    ]


def _rough(age: Column) -> Column:
    """An age to 50 ms while it is young, to one part in eight after that, so that a backlog has few distinct ones."""
    step = F.when(age < _YOUNG_MS, F.lit(50)).otherwise(F.pow(2, F.floor(F.log2(age)) - 3)).cast("long")
    return F.when(age > 0, age - age % step).otherwise(0)
