"""What the small result of a fold becomes: panes, dead letters and statistics."""

import operator
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.frames import columns as c
from pipeline.frames.checks import DETAILS, Check, verdict_of
from pipeline.frames.fold import per_batch
from pipeline.time import rules

_PASSED: Final = int(Check.PASSED)
_YOUNG_MS: Final = 10_000
_ROW_BYTES: Final = 100


def panes(folded: DataFrame, batch: int, watermark: int | None, partitions: int) -> DataFrame:
    """Rows of `panes`: partial counts with the batch and the watermark from before it."""
    return folded.where(F.col(c.CHECK) == _PASSED).select(
        per_batch(batch, partitions).alias(c.BATCH),
        c.PANE_START,
        c.USER_ID,
        (F.col(c.RECORDS) - F.col(c.CLICKS)).alias(c.PAGE_VIEWS),
        c.CLICKS,
        per_batch(watermark, partitions).alias(c.WATERMARK),
    )


def dead_letters(folded: DataFrame, topic: str, batch: int, watermark: int | None, partitions: int) -> DataFrame:
    """Rows of `dead_letters`: every rejected record with its bytes, why, and the watermark that judged it."""
    judged_by = per_batch(watermark, partitions)
    return folded.where(F.col(c.CHECK) != _PASSED).select(
        _text_of([str(verdict_of(check)) for check in Check]).alias(c.REASON),
        _text_of([DETAILS[check] for check in Check]).alias(c.DETAIL),
        F.lit(topic).alias(c.TOPIC),
        c.PARTITION,
        c.OFFSET,
        c.KAFKA_TIMESTAMP,
        c.EVENT_TIME,
        c.USER_ID,
        F.when(judged_by != rules.NO_WATERMARK, judged_by).alias(c.WATERMARK),
        c.KEY,
        c.VALUE,
        per_batch(batch, partitions).alias(c.BATCH),
    )


def statistics(folded: DataFrame, now: int, partitions: int) -> DataFrame:
    """Per partition, check, pane and age: `records`, `max_event_time`, and the `bytes` of the folded rows.

    `age_ms` is a rough age of the records at `now`: lowest Kafka timestamp of a user in a pane.
    """
    size = reduce(operator.add, [F.coalesce(F.length(name), F.lit(0)) for name in (c.USER_ID, c.KEY, c.VALUE)])
    age = _rough(per_batch(now, partitions) - F.col(c.OLDEST))
    return folded.groupBy(c.PARTITION, c.CHECK, c.PANE_START, age.alias(c.AGE_MS)).agg(
        F.sum(c.RECORDS).alias(c.RECORDS),
        F.max(c.MAX_EVENT_TIME).alias(c.MAX_EVENT_TIME),
        F.sum(size + _ROW_BYTES).alias("bytes"),
    )


def _rough(age: Column) -> Column:
    """An age to 50 ms while it is young, to one part in eight after that, so that a backlog has few distinct ones."""
    step = F.when(age < _YOUNG_MS, F.lit(50)).otherwise(F.pow(2, F.floor(F.log2(age)) - 3)).cast("long")
    return F.when(age > 0, age - age % step).otherwise(0)


def _text_of(texts: list[str]) -> Column:
    return F.get(F.array(*[F.lit(text) for text in texts]), F.col(c.CHECK))
