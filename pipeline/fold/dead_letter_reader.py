"""Reads the events of dead letters again: fields, check by the current rules, and reports that they belong to."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipeline import columns as c
from pipeline.event_time.policy import Policy
from pipeline.fold.decode import reader
from pipeline.fold.grouping_sets import KEYS
from pipeline.fold.judge import check_of, time_of
from pipeline.fold.pseudonym_columns import fields_of_letters
from schemas.fields import EventSchemas

BELONGS: Final = "belongs_to_"
"""Prefix of a report's name in the column that is true for events that meet the report's filter."""


def late_events(
    dead_letters: DataFrame, schemas: EventSchemas, policy: Policy, now: int, *, hidden: bool = False
) -> DataFrame:
    """Returns a row per dead letter: its position, batch, watermark, time, keys, check, and a column per report.

    The check is that of `policy` at the clock `now` (milliseconds since 1970), except lateness. `hidden` is for
    dead letters with pseudonyms.
    """
    needed = " ".join([*KEYS, *(report.where for report in policy.reports)])
    names = (c.REASON, c.TOPIC, c.PARTITION, c.OFFSET, c.WATERMARK, c.BATCH, c.KAFKA_TIMESTAMP, c.VALUE)
    stored = [F.col(name) for name in names]
    events = reader(schemas, needed)
    rows = dead_letters.select(*stored, events.decoded).select(*stored, *events.columns)
    if hidden:
        rows = dead_letters.select(*stored, *fields_of_letters(dead_letters, events.names, rows))
    time = time_of(policy, F.col(c.KAFKA_TIMESTAMP))
    check = check_of(schemas.texts, policy, {}, F.lit(now)).alias(c.CHECK)
    belongs = (
        F.coalesce(F.expr(report.where or "true"), F.lit(False)).alias(f"{BELONGS}{report.name}")  # noqa: FBT003
        for report in policy.reports
    )
    return rows.select(*stored, *KEYS, time.alias(c.TIME), check, *belongs).drop(c.VALUE)
