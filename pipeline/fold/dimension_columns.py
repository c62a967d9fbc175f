"""Dimensions as columns of a fold: texts of the values that Spark computes, null where it cannot."""

import re
from collections.abc import Collection, Sequence
from typing import Final

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructType

from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.sql_words import outside_of_texts
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.dimensions import Dimension, Type
from tidemark.pipeline.event_time.field_measures import FieldMeasure
from tidemark.pipeline.event_time.policy import Policy

PARTS: Final = (ArrayType, MapType, StructType)
"""Types of several values."""
_SPARK_TYPES: Final = {Type.TEXT: "string", Type.INTEGER: "bigint", Type.BOOLEAN: "boolean", Type.DATE: "date"}


def sources_of(policy: Policy) -> list[Dimension | FieldMeasure]:
    """Returns all dimensions and measures of fields of a policy."""
    return [*policy.dimensions, *policy.field_measures]


def named_sql_of(sources: Sequence[Dimension | FieldMeasure]) -> str:
    """Returns SQL that names the fields that dimensions and measures need, without the dotted paths."""
    return ", ".join(source.sql or source.path for source in sources if "." not in source.path)


def paths_of(sources: Sequence[Dimension | FieldMeasure]) -> list[str]:
    """Returns the dotted paths of dimensions and measures, each once."""
    return [*dict.fromkeys(source.path for source in sources if "." in source.path)]


def source_of(source: Dimension | FieldMeasure) -> Column:
    """Returns the value over the fields of an event: at a path, or of SQL in which times are local in its zone."""
    return F.col(f"`{source.path}`") if source.path else F.expr(sql_of(source))


def sql_of(source: Dimension | FieldMeasure) -> str:
    """Returns SQL in which times are local in its zone, empty for a path."""
    if not isinstance(source, Dimension) or not source.zone:
        return source.sql
    local = f"from_utc_timestamp(timestamp_millis({c.EVENT_TIME}), '{source.zone}')"
    return outside_of_texts(source.sql, lambda text: re.sub(rf"(?i)\b{c.EVENT_TIME}\b", local, text))


def text_of(dimension: Dimension) -> Column:
    """Returns the value as the text that `Type.value_of` reads; null if it does not fit the type."""
    return source_of(dimension).try_cast(_SPARK_TYPES[dimension.type]).cast("string")


def require_single_values(events: DataFrame, missing: Collection[str], dimensions: Sequence[Dimension]) -> None:
    """Raises SetUpError if a dimension cannot be computed of decoded `events`, or is a list, map or record.

    `missing` are paths that no schema has.
    """
    for dimension in dimensions:
        kind = type_of(dimension, events, missing, f"dimensions.{dimension.name}", "is")
        if isinstance(kind, PARTS):
            raise SetUpError(
                f"dimensions.{dimension.name} is {kind.simpleString()}: a dimension is one value, so name a field "
                "inside, or choose one in SQL"
            )
        if dimension.personal and not isinstance(kind, StringType):
            raise SetUpError(
                f"dimensions.{dimension.name} is personal and of {kind.simpleString()}: ids of people are texts, so "
                "leave out personal, or name another field"
            )


def type_of(
    source: Dimension | FieldMeasure, events: DataFrame, missing: Collection[str], name: str, verb: str
) -> DataType:
    """Returns the type of the value of decoded `events`. Raises SetUpError if it cannot be computed.

    `missing` are paths that no schema has. Sentences begin with `name`, and `verb` stands before the path.
    """
    if source.path in missing:
        raise SetUpError(f"{name} {verb} {source.path}, which no schema of the topic has")
    try:
        return events.select(source_of(source)).schema[0].dataType
    except (AnalysisException, ParseException) as error:
        reason = str(error).strip().splitlines()[0]
        raise SetUpError(f"{name} cannot be computed of an event: {reason}") from error
