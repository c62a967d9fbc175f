"""Dead letters read again: what each too-late event was, and to which reports it belongs."""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline import columns as c
from pipeline.event_time.policy import Policy
from pipeline.event_time.report import Report
from pipeline.fold.decode import decoded, fields
from pipeline.fold.grouping_sets import KEYS
from pipeline.fold.judge import time_of

BELONGS = "belongs_to_"
"""Before a report's name: whether an event meets its filter."""


def late_events(dead_letters: DataFrame, schemas: Mapping[int, str], policy: Policy) -> DataFrame:
    """Per dead letter: its record position, what judged it (batch and watermark), its time, keys and reports."""
    told = " ".join([*KEYS, *(report.where for report in policy.reports)])
    kept = [F.col(name) for name in (c.REASON, c.TOPIC, c.PARTITION, c.OFFSET, c.WATERMARK, c.BATCH, c.KAFKA_TIMESTAMP)]
    read = dead_letters.select(*kept, decoded(schemas, told).alias("event"))
    read = read.select(*kept, *(F.col(f"event.{name}") for name in fields(schemas, told)))
    time = time_of(policy, F.col(c.KAFKA_TIMESTAMP))
    return read.select(*kept, *KEYS, time.alias(c.TIME), *_reports(policy.reports))


def _reports(reports: Sequence[Report]) -> list[Column]:
    return [
        F.coalesce(F.expr(report.where or "true"), F.lit(False)).alias(f"{BELONGS}{report.name}")  # noqa: FBT003
        for report in reports
    ]
