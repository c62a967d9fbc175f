"""Conditions of the settings on events, whose fields may have any names.

A condition is evaluated where only the event's fields are columns. So a field may be named `value` or `offset`, which a
Kafka record has too, or like a column of ours.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.policy import Policy
from tidemark.pipeline.fold.dimension_columns import text_of
from tidemark.pipeline.fold.field_values import value_of
from tidemark.pipeline.runtime.pyspark_internals import Selection, null_if_it_fails, remembered

_RECORD: Final = "kafka record"
"""The struct of all other columns; no Avro field can have a name with a space."""
_OWN: Final = (c.EVENT_TYPE, c.USER_ID, c.EVENT_TIME, c.PAGE_URL, c.EVENT_ID)
FIELDS: Final = "event_fields"
"""The struct of the event's fields, if it is kept."""


def condition_names(policy: Policy) -> dict[str, str]:
    """Returns the column of each condition, by its SQL."""
    conditions = {policy.strategy.marker, *(consumer.where for consumer in policy.consumers)} - {"", None}
    return {sql: f"condition_{index}" for index, sql in enumerate(sorted(filter(None, conditions)))}


def own_values(policy: Policy, events: DataFrame | None = None) -> dict[str, Column]:
    """Returns the values of dimensions and of measures over the fields of an event, by their columns in a fold.

    With `events`, of which the types count, SQL over one text is computed once for equal texts.
    """
    texts = {dimension.column: text_of(dimension) for dimension in policy.dimensions}
    if events is not None:
        of_sql = [dimension.column for dimension in policy.dimensions if dimension.sql]
        texts |= {name: remembered(texts[name], events) for name in of_sql}
    return texts | {measure.column: value_of(measure) for measure in policy.field_measures}


def fields_and_conditions(
    others: Mapping[str, Column],
    fields: Sequence[Column],
    names: Sequence[str],
    conditions: Mapping[str, str],
    values: Mapping[str, Column] = MappingProxyType({}),
    *,
    keeps_fields: bool = False,
) -> list[Selection]:
    """Returns selections that add an event's own fields and the values of `conditions` to the columns `others`.

    `fields` are the event's, and have `names`; `conditions` maps SQL to the name of its column. `values`,
    over the event's fields, are added by their names, too. `keeps_fields` adds all fields as a struct.
    """
    own = [name for name in names if name in _OWN]
    if not conditions and not values and not keeps_fields:
        return [
            Selection([*_named(others), *(field for field, name in zip(fields, names, strict=True) if name in own)])
        ]
    evaluated = [_where_it_succeeds(F.expr(sql)).alias(name) for sql, name in conditions.items()]
    evaluated += [_where_it_succeeds(value).alias(name) for name, value in values.items()]
    struct = [F.struct(*(F.col(f"`{name}`") for name in names)).alias(FIELDS)] if keeps_fields else []
    kept = [F.col(f"`{_RECORD}`.{name}").alias(name) for name in others]
    return [
        Selection([F.struct(*_named(others)).alias(_RECORD), *fields]),
        Selection([*kept, *map(F.col, own), *struct, *evaluated]),
    ]


def _where_it_succeeds(value: Column) -> Column:
    """Returns the value of SQL over an event, null if Spark raises an error: no event may stop the others.

    As a branch it is not computed ahead together with equal parts of other conditions.
    """
    return null_if_it_fails(F.when(F.col(c.EVENT_TIME).isNotNull(), value), SparkSession.active())


def _named(columns: Mapping[str, Column]) -> Iterable[Column]:
    return (column.alias(name) for name, column in columns.items())
