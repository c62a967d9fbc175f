"""Measures of fields as columns of a fold: whole numbers, conditions as 1 or 0, texts, and buckets of numbers.

They are null without a value.
"""

from collections.abc import Collection, Iterator, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, NumericType, StringType

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.field_measures import FieldMeasure, Function
from tidemark.pipeline.fold.dimension_columns import PARTS, source_of, type_of
from tidemark.pipeline.runtime.pyspark_internals import bucket, null_if_it_fails, scaled_number


def value_of(measure: FieldMeasure) -> Column:
    """Returns the value over the fields of an event, as a fold has it."""
    source = source_of(measure)
    if measure.function.is_of_text:
        return source.try_cast("string")
    if measure.function is Function.COUNT_IF:
        return F.when(source.try_cast("boolean"), 1).otherwise(0).cast("long")
    number = scaled_number(source, measure.digits, measure.function.bound, SparkSession.active())
    return bucket(number, SparkSession.active()).cast("string") if measure.function is Function.QUANTILES else number


def unread(measure: FieldMeasure) -> Column:
    """Returns whether an event has a value that is not read as a number; SQL that fails for it has none."""
    has_other = source_of(measure).isNotNull() & value_of(measure).isNull()
    return F.coalesce(null_if_it_fails(has_other, SparkSession.active()), F.lit(False))  # noqa: FBT003


def counted_columns(measures: Sequence[FieldMeasure]) -> Iterator[Column]:
    """Yields the columns of a fold that `measures` read: their numbers, and 1 or 0 for whether there is a number."""
    yield from map(F.col, dict.fromkeys(each.column for each in measures if not each.function.is_grouped_by))
    for measure in measures:
        if measure.function is Function.AVG:
            yield F.col(measure.column).isNotNull().cast("long").alias(measure.counted)


def require_values(events: DataFrame, missing: Collection[str], measures: Sequence[FieldMeasure]) -> None:
    """Raises SetUpError if a measure cannot be computed of decoded `events`, or its field has another type.

    `missing` are paths that no schema has.
    """
    for measure in measures:
        name = f"measures.{measure.name}"
        kind = type_of(measure, events, missing, name, "is of")
        if needed := _needed(measure, kind):
            raise SetUpError(f"{name} is of {kind.simpleString()}: {measure.function} is of {needed}")


def _needed(measure: FieldMeasure, kind: DataType) -> str:
    """Returns what a measure is of, if values of the type `kind` cannot be that."""
    if measure.function.is_of_text:
        return "one value, so name a field inside, or choose one in SQL" if isinstance(kind, PARTS) else ""
    if measure.function is Function.COUNT_IF:
        return "" if isinstance(kind, BooleanType) else "a condition, such as event_type = 'purchase'"
    return "" if isinstance(kind, NumericType | StringType) else "numbers"
