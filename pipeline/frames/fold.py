"""The fold: one pass over a batch gives counts, dead letters and every number the ledger needs.

Counted records fold into one row per (partition, pane, user). A rejected record keeps a row of its own, because its
offset and bytes are part of the grouping key too; they are null for counted ones. So one hash aggregation serves all
outputs, and the Kafka range is read and decoded once.
"""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.frames import columns as c
from pipeline.frames.checks import Check
from pipeline.frames.decode import decode
from pipeline.frames.judge import judge
from pipeline.time import rules
from pipeline.time.verdicts import Policy

_OF_REJECTED: Final = (c.OFFSET, c.KEY, c.VALUE, c.KAFKA_TIMESTAMP, c.EVENT_TIME)
_GROUP: Final = "packed"
_REJECTED: Final = "rejected"
_CHECKS: Final = 16
"""More than there are checks."""


def fold(
    records: DataFrame, schemas: Mapping[int, str], policy: Policy, watermark: int | None, partitions: int
) -> DataFrame:
    """One row per (check, partition, pane, user) of counted records, and one per rejected record.

    Columns: the grouping key, `records`, `clicks`, `max_event_time` (of what may move the watermark) and `oldest`
    (lowest Kafka timestamp). `watermark` is the one from before the batch, `partitions` the topic's number of them.
    """
    judged = judge(decode(records, schemas), schemas, policy, per_batch(watermark, partitions))
    rejected = F.col(c.CHECK) != int(Check.PASSED)
    time = F.col(c.EVENT_TIME)
    groups = (
        judged.select(
            _packed(F.when(~rejected, time).otherwise(0), policy.window_ms, partitions).alias(_GROUP),
            c.USER_ID,
            F.when(rejected, F.struct(*_OF_REJECTED)).alias(_REJECTED),
            (F.col(c.EVENT_TYPE) == "click").cast("long").alias("click"),
            F.when(F.col(c.CHECK) <= int(Check.TOO_LATE), time).alias("trusted_time"),
            F.col(c.KAFKA_TIMESTAMP).alias("arrived"),
        )
        .groupBy(_GROUP, c.USER_ID, _REJECTED)
        .agg(
            F.count(F.lit(1)).alias(c.RECORDS),
            F.sum("click").alias(c.CLICKS),
            F.max("trusted_time").alias(c.MAX_EVENT_TIME),
            F.min("arrived").alias(c.OLDEST),
        )
    )
    return groups.select(
        *_unpacked(policy.window_ms, partitions),
        c.USER_ID,
        *(F.col(f"{_REJECTED}.{name}").alias(name) for name in _OF_REJECTED),
        c.RECORDS,
        c.CLICKS,
        c.MAX_EVENT_TIME,
        c.OLDEST,
    )


def _packed(time: Column, window_ms: int, partitions: int) -> Column:
    """Pane, partition and check in one number: the narrower the grouping key, the cheaper each look-up."""
    pane: Column = (rules.pane_start(time, window_ms) / window_ms).cast("long")
    return (pane * partitions + F.col(c.PARTITION)) * _CHECKS + F.col(c.CHECK)


def _unpacked(window_ms: int, partitions: int) -> list[Column]:
    check = (F.col(_GROUP) % _CHECKS).cast("int")
    rest = F.expr(f"{_GROUP} div {_CHECKS}")
    pane = F.expr(f"{_GROUP} div {_CHECKS * partitions}") * window_ms
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
