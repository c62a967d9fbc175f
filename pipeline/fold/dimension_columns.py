"""Dimensions as columns of a fold: texts of the values that Spark computes, null where it cannot."""

import re
from collections.abc import Collection, Sequence
from typing import Final

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType

from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.sql_words import outside_of_texts
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.dimensions import Dimension, Type

_PARTS: Final = (ArrayType, MapType, StructType)
_SPARK_TYPES: Final = {Type.TEXT: "string", Type.INTEGER: "bigint", Type.BOOLEAN: "boolean", Type.DATE: "date"}


def named_sql_of(dimensions: Sequence[Dimension]) -> str:
    """Returns SQL that names the fields that dimensions need, without the dotted paths."""
    return ", ".join(dimension.sql or dimension.path for dimension in dimensions if "." not in dimension.path)


def paths_of(dimensions: Sequence[Dimension]) -> list[str]:
    """Returns the dotted paths of dimensions."""
    return [dimension.path for dimension in dimensions if "." in dimension.path]


def value_of(dimension: Dimension) -> Column:
    """Returns the value over the fields of an event, before it gets the dimension's type."""
    if dimension.path:
        return F.col(f"`{dimension.path}`")
    if not dimension.zone:
        return F.expr(dimension.sql)
    local = f"from_utc_timestamp(timestamp_millis({c.EVENT_TIME}), '{dimension.zone}')"
    return F.expr(outside_of_texts(dimension.sql, lambda sql: re.sub(rf"(?i)\b{c.EVENT_TIME}\b", local, sql)))


def text_of(dimension: Dimension) -> Column:
    """Returns the value as the text that `Type.value_of` reads; null if it does not fit the type."""
    return value_of(dimension).try_cast(_SPARK_TYPES[dimension.type]).cast("string")


def require_single_values(events: DataFrame, missing: Collection[str], dimensions: Sequence[Dimension]) -> None:
    """Raises SetUpError if a dimension cannot be computed of decoded `events`, or is a list, map or record.

    `missing` are paths that no schema has.
    """
    for dimension in dimensions:
        if dimension.path in missing:
            raise SetUpError(f"dimensions.{dimension.name} is {dimension.path}, which no schema of the topic has")
        try:
            kind = events.select(value_of(dimension)).schema[0].dataType
        except (AnalysisException, ParseException) as error:
            reason = str(error).strip().splitlines()[0]
            raise SetUpError(f"dimensions.{dimension.name} cannot be computed of an event: {reason}") from error
        if isinstance(kind, _PARTS):
            raise SetUpError(
                f"dimensions.{dimension.name} is {kind.simpleString()}: a dimension is one value, so name a field "
                "inside, or choose one in SQL"
            )
