"""Refuses SQL on an event whose value may be wrong.

Spark reads the text "5.7" as the integer 5, and "five" as no value. And what depends on the clock, on chance or on the
task differs when a batch is judged again, after a failure or by a replay.
"""

import re
from collections.abc import Mapping
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType, StringType, StructType

from tidemark.pipeline.decoding.decode import Reader, empty_events
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.runtime.pyspark_internals import planned_expressions, volatile_parts

_CAST: Final = re.compile(r"(?<!try_)\bcast\((?P<field>\w+)#\d+(?P<path>(?:\.\w+)*) as (?P<kind>\w+)")
_TEXTS: Final = ("string", "binary")


def require_sound(spark: SparkSession, events: Reader, sqls: Mapping[str, str], remedy: str) -> None:
    """Raises SetUpError if valid SQL, by its setting, casts a text field, or is not a function of the event alone.

    `remedy` is a format for the end of the message about a cast, with `field` and `declared`: number or boolean.
    """
    fields = empty_events(spark, events).schema
    rows = spark.range(1).selectExpr(*(f"{_sample(field.dataType)} AS `{field.name}`" for field in fields))
    for setting, sql in sqls.items():
        computed = rows.selectExpr(sql)
        if volatile := volatile_parts(computed):
            raise SetUpError(
                f"{setting} depends on {volatile[0]}, which is not of the event: when a batch is judged again, after a "
                "failure or by a replay, its value would be another. Use fields and event_time only"
            )
        for cast in _CAST.finditer(planned_expressions(computed)):
            field, kind = cast["field"] + cast["path"], cast["kind"]
            if isinstance(_type_of(fields, field), StringType) and kind not in _TEXTS:
                declared = "boolean" if kind == "boolean" else "number"
                raise SetUpError(
                    f"{setting} reads {field} as {kind}, but it is text, and a text that is no {kind} would be no "
                    f"value or another one: write try_cast({field} AS {kind})"
                    + remedy.format(field=field, declared=declared)
                )


def _sample(kind: DataType) -> str:
    """Returns SQL of a value that Spark cannot compute while it plans."""
    return "uuid()" if isinstance(kind, StringType) else f"from_json(uuid(), 'x {kind.simpleString()}').x"


def _type_of(fields: StructType, path: str) -> DataType:
    found: DataType = fields
    for name in path.split("."):
        assert isinstance(found, StructType)  # noqa: S101 - Spark has resolved the path
        found = found[name].dataType
    return found
