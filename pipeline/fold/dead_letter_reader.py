"""Reads the events of dead letters again: fields, check by the current rules, and reports that they belong to."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.decode import decoded, reader
from tidemark.pipeline.decoding.mapping import has_page
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.event_time.reports import KEYS
from tidemark.pipeline.fold.conditions import condition_names, fields_and_conditions, own_values
from tidemark.pipeline.fold.dimension_columns import named_sql_of, paths_of, sources_of
from tidemark.pipeline.fold.judge import check_of, time_of
from tidemark.pipeline.fold.pseudonym_columns import fields_of_letters
from tidemark.schemas.fields import EventSchemas

BELONGS: Final = "belongs_to_"
"""Prefix of a report's name in the column that is true for events that meet the report's filter."""


def stored_keys(schemas: EventSchemas) -> list[str]:
    """Returns the keys of an event that are read for later corrections: all that every version has."""
    return [key for key in KEYS if key != c.PAGE_URL or has_page(schemas)]


def late_events(
    dead_letters: DataFrame, schemas: EventSchemas, policy: Policy, now: int, *, hidden: bool = False
) -> DataFrame:
    """Returns a row per dead letter: its position, batch, watermark, time, keys, check, and a column per report.

    Dimensions and values of measures are as in a fold. The check is that of `policy` at the clock `now` (milliseconds
    since 1970), except lateness. `hidden` is for dead letters with pseudonyms.
    """
    sources, values = sources_of(policy), own_values(policy)
    names_of_dimensions = {dimension.name for dimension in policy.dimensions}
    used = {key for report in policy.reports for key in report.keys} - names_of_dimensions
    keys = {*stored_keys(schemas), *used}
    conditions_sql = (policy.strategy.marker, *(report.where for report in policy.reports))
    needed = ", ".join(filter(None, [*sorted(keys), named_sql_of(sources), *conditions_sql]))
    names = (c.REASON, c.TOPIC, c.PARTITION, c.OFFSET, c.WATERMARK, c.BATCH, c.KAFKA_TIMESTAMP, c.VALUE)
    stored = {name: F.col(name) for name in names}
    events, conditions = reader(schemas, needed, paths_of(sources)), condition_names(policy)
    rows, fields = decoded(dead_letters.select(*names), events.plan), events.columns
    if hidden:
        fields = fields_of_letters(dead_letters, events.names, rows.select(*fields))
    for selection in fields_and_conditions(stored, fields, events.names, conditions, values):
        rows = selection.apply(rows)
    time = time_of(policy, F.col(c.KAFKA_TIMESTAMP))
    check = check_of(schemas, policy, {}, F.lit(now)).alias(c.CHECK)
    is_true = F.lit(True)  # noqa: FBT003
    belongs = (
        (F.coalesce(F.col(conditions[report.where]), ~is_true) if report.where else is_true).alias(
            f"{BELONGS}{report.name}"
        )
        for report in policy.reports
    )
    read = [F.col(key) if key in keys else F.lit(None).cast("string").alias(key) for key in KEYS]
    own = (F.col(name) for name in values)
    return rows.select(*stored, *read, *own, time.alias(c.TIME), check, *belongs).drop(c.VALUE)
