"""Dead letters read again: what each event is, what today's rules say of it, and to which reports it belongs."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipeline import columns as c
from pipeline.event_time.policy import Policy
from pipeline.fold.decode import reader
from pipeline.fold.grouping_sets import KEYS
from pipeline.fold.judge import check_of, time_of
from pipeline.fold.pseudonym_columns import fields_of_letters
from schemas.fields import EventSchemas

BELONGS = "belongs_to_"
"""Before a report's name: whether an event meets its filter."""


def late_events(
    dead_letters: DataFrame, schemas: EventSchemas, policy: Policy, now: int, *, hidden: bool = False
) -> DataFrame:
    """Per dead letter: its record position, what judged it (batch and watermark), its time, keys and reports.

    And the check that it fails by the rules of `policy` at the clock `now`, lateness aside. They are `hidden` where
    users are known by pseudonyms.
    """
    told = " ".join([*KEYS, *(report.where for report in policy.reports)])
    names = (c.REASON, c.TOPIC, c.PARTITION, c.OFFSET, c.WATERMARK, c.BATCH, c.KAFKA_TIMESTAMP, c.VALUE)
    kept = [F.col(name) for name in names]
    events = reader(schemas, told)
    read = dead_letters.select(*kept, events.decoded).select(*kept, *events.columns)
    if hidden:
        read = dead_letters.select(*kept, *fields_of_letters(dead_letters, events.names, read))
    time = time_of(policy, F.col(c.KAFKA_TIMESTAMP))
    check = check_of(schemas.texts, policy, {}, F.lit(now)).alias(c.CHECK)
    belongs = (
        F.coalesce(F.expr(report.where or "true"), F.lit(False)).alias(f"{BELONGS}{report.name}")  # noqa: FBT003
        for report in policy.reports
    )
    return read.select(*kept, *KEYS, time.alias(c.TIME), check, *belongs).drop(c.VALUE)
