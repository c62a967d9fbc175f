"""What the driver is told of a fold: records by partition, check, pane and age, for the ledger and the watermark."""

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipeline import columns as c

NOW: Final = "now"
"""The column of the clock when the batch began, in milliseconds."""
_YOUNG_MS: Final = 10_000
ROW_BYTES: Final = 100
"""About as many of a folded row, beside its texts."""


def statistics(keys: Sequence[str]) -> tuple[list[Column], list[Column]]:
    """The grouping key of statistics over a fold with these keys, and their sums."""
    texts = [name for name in (*keys, c.KEY, c.VALUE) if name != c.RECORD_POSITION]
    age = _rough(F.col(NOW) - F.col(c.OLDEST))
    return [*map(F.col, (c.GROUPING, c.PARTITION, c.CHECK, c.PANE_START)), age.alias(c.AGE_MS)], [
        F.sum(c.RECORDS).alias(c.RECORDS),
        F.max(c.MAX_EVENT_TIME).alias(c.MAX_EVENT_TIME),
        F.sum(bytes_of(texts)).alias("bytes"),
    ]


def bytes_of(texts: Sequence[str]) -> Column:
    """About how large a row with these texts is."""
    return reduce(operator.add, [F.coalesce(F.length(name), F.lit(0)) for name in texts]) + ROW_BYTES


def _rough(age: Column) -> Column:
    """An age to 50 ms while it is young, to one part in eight after that, so that a backlog has few distinct ones."""
    step = F.when(age < _YOUNG_MS, F.lit(50)).otherwise(F.pow(2, F.floor(F.log2(age)) - 3)).cast("long")
    return F.when(age > 0, age - age % step).otherwise(0)
