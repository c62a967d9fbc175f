"""Rejected records kept apart, where a batch has many: rows as they were judged, and no group of the fold for each.

A group with the bytes of a record is made, sent and looked up twice; that is the dearest of all ways through the fold,
and the cheapest where there are few.
"""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipeline import columns as c

OF_REJECTED: Final = (c.OFFSET, c.KEY, c.VALUE, c.KAFKA_TIMESTAMP, c.EVENT_TIME, "user")
"""What is kept of a rejected record."""
POSITION: Final = "rejected_position"
"""The column of the record position, by which pieces of what is kept are found; null where nothing is."""
REJECTED: Final = "rejected"
"""The column of what is kept of a record, null where nothing is."""
_SAMPLE: Final = 1_000


def share_rejected(keyed: DataFrame) -> float:
    """Of the first records that Spark finds in the first half of a fold; none are no share."""
    some = keyed.select(F.col(REJECTED).isNotNull().cast("int").alias(REJECTED)).limit(_SAMPLE)
    return float(some.agg(F.coalesce(F.avg(REJECTED), F.lit(0.0))).collect()[0][0])
