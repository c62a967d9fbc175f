"""Kafka records to events: the frame of a value is checked, and only the needed fields are decoded, in Java."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.field_names import FieldNames
from tidemark.pipeline.decoding.json_projection import JsonProjection
from tidemark.pipeline.decoding.mapping import MappedProjection
from tidemark.pipeline.decoding.projection import OwnProjection
from tidemark.pipeline.decoding.writer_schema import normal_schema
from tidemark.pipeline.runtime.connector import SOURCE
from tidemark.schemas.fields import EventSchemas

_OF_RECORD: Final = (c.KEY, c.VALUE, c.PARTITION, c.OFFSET, c.KAFKA_TIMESTAMP)
_EVENT: Final = "decoded event"
_TEXT: Final = StringType()
_BYTES: Final = BinaryType()


@dataclass(frozen=True, slots=True)
class Reader:
    """How events are read."""

    plan: str
    """The decoding plan, as JSON: the fields and schemas by which `connector/tidemark/ValueDecoder.java` decodes."""
    columns: Sequence[Column]
    """Columns of the decoded fields: event_type, user_id, event_time in milliseconds, and further ones. All are null if
    the frame names no known schema, or if the bytes are not Avro of that schema, or not JSON."""
    names: Sequence[str]
    """The names of `columns`."""
    same_as_user: Collection[str]
    """Names among `names` that are the user under another name."""
    missing: Collection[str] = ()
    """Paths that no schema has: their columns are null."""


def projection_of(
    schemas: EventSchemas, sql: str = "", paths: Collection[str] = ()
) -> OwnProjection | MappedProjection:
    """Returns how events in Avro are read: the fields that every event needs, those that `sql` names, those at `paths`.

    It needs no Spark. Raises SetUpError if a schema lacks a needed field, or Spark cannot read a field.
    """
    if schemas.fields.are_default and not paths:
        return OwnProjection(schemas, sql)
    return MappedProjection(schemas, sql, paths)


def may_have_field(schemas: EventSchemas, name: str) -> bool:
    """Returns whether a version has a top-level field with this name or alias; JSON may have any."""
    if schemas.format == "json":
        return True
    return name in FieldNames({str(of): json.loads(normal_schema(of, text)) for of, text in schemas.texts.items()})


def reader(schemas: EventSchemas, sql: str = "", paths: Collection[str] = ()) -> Reader:
    """Returns the reader of the fields that every event needs, those that `sql` names, and those at dotted `paths`.

    The column of a path has it as name. Raises SetUpError if a schema lacks a needed field.
    """
    if schemas.format == "json":
        fields = JsonProjection(schemas.fields, sql, paths)
        return Reader(fields.plan, fields.columns(), fields.names, fields.same_as_user())
    read = projection_of(schemas, sql, paths)
    plan = read.plan | {"long_ids": schemas.has_long_ids, "id_headers": schemas.id_headers}
    missing = read.missing if isinstance(read, MappedProjection) else ()
    return Reader(json.dumps(plan), read.columns(), read.names, read.same_as_user(), missing)


def decoded(rows: DataFrame, plan: str) -> DataFrame:
    """Decodes the values of rows that do not come from the topic; returns them with a column for each field.

    `plan` is a decoding plan: see `Reader.plan`.
    """
    spark = rows.sparkSession
    options = {"plan": plan, "topic": "", "ranges": ""}
    fields = spark.read.format(SOURCE).options(**options).load().drop(*_OF_RECORD).schema
    # A function in Java cannot return a text that is not UTF-8.
    returned = StructType([field if field.dataType != _TEXT else StructField(field.name, _BYTES) for field in fields])
    spark.udf.registerJavaFunction("tidemark_decode", "tidemark.DecodeEvents", returned)
    event = F.call_function("tidemark_decode", F.col(c.VALUE), F.lit(plan)).alias(_EVENT)
    each = [F.col(_EVENT)[field.name].cast(field.dataType).alias(field.name) for field in fields]
    return rows.withColumn(_EVENT, event).select(*rows.columns, *each)


def empty_events(spark: SparkSession, events: Reader) -> DataFrame:
    """Returns decoded fields without rows, for their types."""
    return decoded(spark.createDataFrame([], "value binary"), events.plan).select(*events.columns)
