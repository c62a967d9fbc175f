"""Folds records of foreign schemas in Spark, and returns the verdict on each."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

import fastavro
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.support.brief_java import BRIEF_DRIVER
from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.decode import decoded
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.fold.fold_plan import FoldPlan
from tidemark.pipeline.fold.packed import unpacked
from tidemark.pipeline.fold.record_columns import BatchContext
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import Settings, SparkSettings
from tidemark.producers.encode import header
from tidemark.schemas.fields import EventFields, EventSchemas

NOW: Final = 1_790_820_000_000
USER_AND_TIME: Final = ({"name": "u", "type": "string"}, {"name": "t", "type": "long"})
MAPPED: Final = EventFields(user="u", time="t", kind="")
_RECORDS: Final = pa.schema(
    {"key": pa.binary(), "value": pa.binary(), "partition": pa.int32(), "offset": pa.int64(),
     "kafka_timestamp": pa.int64()}
)  # fmt: skip


def as_read(rows: DataFrame, plan: FoldPlan) -> DataFrame:
    """Returns rows as Spark's own source of Kafka has them as the records that a plan folds."""
    records = rows.select("key", "value", "partition", "offset", F.unix_millis("timestamp").alias("kafka_timestamp"))
    return decoded(records, plan.decoding_plan)


def record(*fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Returns a record schema with a user, a time and further fields."""
    return {"type": "record", "name": "E", "fields": [*USER_AND_TIME, *fields]} | more


def written(schema_id: int, schema: dict[str, Any], event: Mapping[str, Any]) -> bytes:
    """Returns the bytes of a record; user and time have values also if the event lacks them."""
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(schema), {"u": "ann", "t": NOW, **event})
    return header(schema_id) + body.getvalue()


def verdicts(
    schemas: Mapping[int, Any],
    values: Sequence[bytes],
    where: str = "",
    fields: EventFields = MAPPED,
    *,
    has_long_ids: bool = False,
    kafka_timestamp: int = NOW,
    measures: Mapping[str, Any] = MappingProxyType({}),
) -> list[tuple[Check, bool]]:
    """Returns for each value, in order, its check and whether it meets the condition of a report with `measures`."""
    texts = {schema_id: json.dumps(schema) for schema_id, schema in schemas.items()}
    read = EventSchemas(texts, fields, has_long_ids)
    return verdicts_of(read, values, where, kafka_timestamp, measures=measures)


def verdicts_of(
    schemas: EventSchemas,
    values: Sequence[bytes | None],
    where: str = "",
    kafka_timestamp: int = NOW,
    time: Mapping[str, str] | None = None,
    *,
    leaves_out_kinds: bool = False,
    measures: Mapping[str, Any] = MappingProxyType({}),
) -> list[tuple[Check, bool]]:
    """Returns for each value, in order, its check and whether it meets the condition of a report with `measures`."""
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    reports = {"few": {"keys": ["user_id"], "where": where, "measures": ["page_views", "clicks", *measures]}}
    settings = {"reports": reports, "time": time or {}, "measures": measures}
    policy = Settings.model_validate(settings).policy()
    policy = replace(policy, leaves_out_kinds=leaves_out_kinds)
    count = len(values)
    plan = FoldPlan(schemas, policy, count)
    rows = pa.table([[b"k"] * count, values, [*range(count)], [0] * count, [kafka_timestamp] * count], schema=_RECORDS)
    keyed = plan.keyed(decoded(spark.createDataFrame(rows), plan.decoding_plan), BatchContext(None, NOW))
    found = keyed.select(*unpacked(plan.groupings, count)).toArrow().to_pylist()
    return [(Check(row[c.CHECK]), row[c.FLAGS] == 1) for row in found]
