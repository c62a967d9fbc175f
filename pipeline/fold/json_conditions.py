"""Refuses conditions that would fail at an event in JSON: Spark raises an error for a text that it cannot cast."""

import re
from collections.abc import Mapping
from typing import Final

from pyspark.sql import SparkSession

from pipeline.errors import SetUpError
from pipeline.fold.json_projection import JsonProjection
from pipeline.runtime.pyspark_internals import planned_expressions
from schemas.fields import EventFields

_SAMPLES: Final = {
    "string": "uuid()",
    "double": "rand()",
    "boolean": "rand() > 0.5",
    "bigint": "cast(rand() AS bigint)",
}
"""Values by type that Spark cannot compute while it plans."""
_CAST: Final = re.compile(r"(?<!try_)\bcast\((?P<field>\w+)#\d+ as (?P<type>\w+)")
_TEXTS: Final = ("string", "binary")


def require_safe_conditions(spark: SparkSession, fields: EventFields, conditions: Mapping[str, str]) -> None:
    """Raises SetUpError if one of the `conditions`, SQL by setting, casts a text field. They must be valid SQL."""
    for setting, sql in conditions.items():
        types = JsonProjection(fields, sql).types
        rows = spark.range(1).selectExpr(*(f"{_SAMPLES[kind]} AS `{name}`" for name, kind in types.items()))
        for cast in _CAST.finditer(planned_expressions(rows.selectExpr(sql))):
            field, kind = cast["field"], cast["type"]
            if types.get(field) == "string" and kind not in _TEXTS:
                declared = "boolean" if kind == "boolean" else "number"
                raise SetUpError(
                    f"{setting} reads {field} as {kind}, but it is text, and a text that is no {kind} would stop the "
                    f"service: write try_cast({field} AS {kind}), or set schemas.mapping.types.{field} to {declared}"
                )
