"""The fold: one pass over a batch gives counts, dead letters and every number the ledger needs.

Counted records fold into one row per (partition, pane, user). A rejected record keeps a row of its own, because its
offset and bytes are part of the grouping key too; they are null for counted ones. So one hash aggregation serves all
outputs, and the Kafka range is read and decoded once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.frames import columns as c
from pipeline.frames.checks import Check
from pipeline.frames.decode import decode
from pipeline.frames.judge import judge
from pipeline.time import rules
from pipeline.time.grid import Grid
from pipeline.time.verdicts import Policy

_OF_REJECTED: Final = (c.OFFSET, c.KEY, c.VALUE, c.KAFKA_TIMESTAMP, c.EVENT_TIME)
_GROUP: Final = "packed"
_REJECTED: Final = "rejected"
_CHECKS: Final = 16
"""More than there are checks."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known when a batch begins: the watermark and the clock in milliseconds, and the topic's partitions."""

    watermark: int | None
    now: int
    partitions: int


def fold(records: DataFrame, schemas: Mapping[int, str], policy: Policy, known: Known) -> DataFrame:
    """One row per (check, partition, pane, user) of counted records, and one per rejected record.

    Columns: the grouping key, `records`, `clicks`, `max_event_time` (of what may move the watermark) and `oldest`
    (lowest Kafka timestamp).
    """
    partitions = known.partitions
    watermark, now = per_batch(known.watermark, partitions), per_batch(known.now, partitions)
    judged = judge(decode(records, schemas, policy.marker), schemas, policy, watermark, now)
    rejected, time = F.col(c.CHECK) != int(Check.PASSED), F.col(c.TIME)
    moves = F.col(c.CHECK) <= int(Check.TOO_LATE)
    if policy.marker:
        moves &= F.expr(policy.marker)
    groups = (
        judged.select(
            _packed(F.when(~rejected, time).otherwise(0), policy.grid, partitions).alias(_GROUP),
            c.USER_ID,
            F.when(rejected, F.struct(*_OF_REJECTED)).alias(_REJECTED),
            (F.col(c.EVENT_TYPE) == "click").cast("long").alias("click"),
            F.when(moves, time).alias("moving_time"),
            F.col(c.KAFKA_TIMESTAMP).alias("arrived"),
        )
        .groupBy(_GROUP, c.USER_ID, _REJECTED)
        .agg(
            F.count(F.lit(1)).alias(c.RECORDS),
            F.sum("click").alias(c.CLICKS),
            F.max("moving_time").alias(c.MAX_EVENT_TIME),
            F.min("arrived").alias(c.OLDEST),
        )
    )
    return groups.select(
        *_unpacked(policy.grid, partitions),
        c.USER_ID,
        *(F.col(f"{_REJECTED}.{name}").alias(name) for name in _OF_REJECTED),
        c.RECORDS,
        c.CLICKS,
        c.MAX_EVENT_TIME,
        c.OLDEST,
    )


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


def per_batch(value: int | None, partitions: int) -> Column:
    """A value that changes from batch to batch, as a column.

    A primitive literal would be inlined in the generated code, so every batch would compile new classes and run them
    cold; an array literal is passed by reference.
    """
    number = rules.NO_WATERMARK if value is None else value
    return F.get(F.array_repeat(F.lit(number).cast("long"), partitions), F.col(c.PARTITION))
