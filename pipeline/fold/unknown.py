"""Schema ids that records name and no known schema has."""

from collections.abc import Collection
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipeline import columns as c
from pipeline.event_time.checks import Check

_AT_ONCE: Final = 20


def unknown_schemas(folded: DataFrame, but: Collection[int]) -> list[int]:
    """Some of the ids of a fold's records that no schema has, other than those given; none where there are no more."""
    number = F.conv(F.hex(F.substring(c.VALUE, 2, 4)), 16, 10).cast("long").alias("number")
    unknown = folded.where((F.col(c.CHECK) == int(Check.SCHEMA_ID)) & (F.col(c.GROUPING) == 0)).select(number)
    return [row.number for row in unknown.where(~F.col("number").isin([*but])).distinct().limit(_AT_ONCE).collect()]
