"""Dead letters as Spark rows, for batches that have too many of them for the driver."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline import columns as c
from pipeline.event_time.checks import DETAILS, Check, reason_of

_AS_READ: Final = (c.PARTITION, c.OFFSET, c.KAFKA_TIMESTAMP, c.EVENT_TIME, c.KEY, c.VALUE)


def rejected(folded: DataFrame, topic: str, batch: int, watermark: int | None, partitions: int) -> DataFrame:
    """The rows of `dead_letters` that `pipeline.fold.outputs.dead_letters` makes of an Arrow table."""
    letters = folded.where((F.col(c.CHECK) != int(Check.PASSED)) & (F.col(c.GROUPING) == 0))
    return letters.select(
        _text_of([reason_of(check) for check in Check]).alias(c.REASON),
        _text_of([DETAILS[check] for check in Check]).alias(c.DETAIL),
        F.lit(topic).alias(c.TOPIC),
        F.col("user").alias(c.USER_ID),
        _same(watermark, partitions).alias(c.WATERMARK),
        _same(batch, partitions).alias(c.BATCH),
        *map(F.col, _AS_READ),
    )


def counted(folded: DataFrame) -> DataFrame:
    """The rows that panes are made of."""
    return folded.where(F.col(c.CHECK) <= int(Check.PARTLY_LATE))


def _text_of(texts: Sequence[str]) -> Column:
    return F.get(F.lit(list(texts)), F.col(c.CHECK))


def _same(value: int | None, partitions: int) -> Column:
    """The same number in each row, which does not enter generated code: see `Fold`."""
    return F.get(F.expr(f"array_repeat({'NULL' if value is None else value}, {partitions})"), F.col(c.PARTITION)).cast(
        "long"
    )
