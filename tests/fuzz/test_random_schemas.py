"""Random schemas and mappings: what is accepted is read as fastavro reads it, what is not is refused in a sentence."""

import io
import json
from collections.abc import Callable, Sequence
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import assume, event, given, settings

from tests.fuzz.random_schemas import topics
from tests.support import folded
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.folded import verdicts, verdicts_of, written
from tidemark.pipeline.app import plan_fold
from tidemark.pipeline.decoding.decode import decoded, projection_of, reader
from tidemark.pipeline.decoding.mapping import MappedProjection
from tidemark.pipeline.decoding.projection import OwnProjection
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.checks import Check
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import Settings, SparkSettings
from tidemark.producers.encode import header
from tidemark.schemas.fields import EventFields, EventSchemas

LONGEST = 1_000
Topic = tuple[dict[int, Any], dict[int, Any], EventFields, str]


def plain(schema: Any) -> Any:
    """Returns a schema without logical types, so that values are what is written."""
    if isinstance(schema, list):
        return [plain(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: plain(part) for key, part in schema.items() if key not in ("logicalType", "precision", "scale")}


def body_of(schema: Any, record: Any) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(plain(schema)), record)
    return body.getvalue()


def refusal(reads: Callable[[], object]) -> str:
    """Returns the sentence by which a topic is refused; empty if it is not."""
    sentence = ""
    try:
        reads()
    except SetUpError as error:
        sentence = str(error) or "\n"
    assert "\n" not in sentence
    assert len(sentence) < LONGEST
    return sentence


def accepted(topic: Topic) -> OwnProjection | MappedProjection | None:
    """Returns how events of a topic are read; None if a sentence refuses them."""
    texts = {schema_id: json.dumps(schema) for schema_id, schema in topic[0].items()}
    schemas = EventSchemas(texts, topic[2])
    return None if refusal(lambda: projection_of(schemas, topic[3])) else projection_of(schemas, topic[3])


def value_of(schema: Any, record: Any, name: str) -> Any:
    """Returns the value of a top-level field by its name or its alias in one version."""
    names = {alias: field["name"] for field in schema["fields"] for alias in field.get("aliases", ())}
    return record.get(name, record.get(names.get(name, "")))


def value_at(record: Any, positions: Sequence[int]) -> Any:
    """Returns the value at positions in records, each inside of the record before; None in a null."""
    for position in positions:
        record = None if record is None else [*record.values()][position]
    return record


@given(topics())
def test_a_schema_is_refused_or_read_as_fastavro_reads_it(topic: Topic) -> None:
    schemas, records, fields, _ = topic
    projection = accepted(topic)
    event("refused" if projection is None else "read")
    if projection is None:
        return
    positions = {column["name"]: column["positions"] for column in projection.plan["columns"]}
    for schema_id, record in records.items():
        writer = fastavro.parse_schema(plain(json.loads(projection.plan["writers"][str(schema_id)])))
        if record is None:
            continue
        read: Any = fastavro.schemaless_reader(io.BytesIO(body_of(schemas[schema_id], record)), writer)
        expected = {name: record[name] for name in {*projection.names[3:]} & positions.keys() & record.keys()}
        if "." not in fields.user:
            expected[fields.user] = value_of(schemas[schema_id], record, fields.user)
        for name, value in expected.items():
            at = positions[name].get(str(schema_id))
            assert value == (None if at is None else value_at(read, at)), name


@pytest.mark.jvm
@settings(max_examples=12, derandomize=True)
@given(topics())
def test_spark_reads_what_is_accepted(topic: Topic) -> None:
    schemas, records, fields, words = topic
    assume(accepted(topic) is not None and all(record is not None for record in records.values()))
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    texts = {schema_id: json.dumps(schema) for schema_id, schema in schemas.items()}
    events = reader(EventSchemas(texts, fields), words)
    values = [header(schema_id) + body_of(schemas[schema_id], record) for schema_id, record in records.items()]
    rows = spark.createDataFrame(pa.table({"value": pa.array(values, pa.binary())}))
    found = decoded(rows, events.plan).select(*events.columns).collect()
    for row, (schema_id, record) in zip(found, records.items(), strict=True):
        user = value_of(schemas[schema_id], record, fields.user)
        if "." not in fields.user:
            assert row[1] == ("" if user is None else str(user))
        for name, value in zip(events.names[3:], row[3:], strict=True):
            if type(record.get(name)) in (str, bool, int) and type(value) in (str, bool, int):
                assert value == record[name]


@pytest.mark.jvm
def test_a_truth_value_is_a_0_or_a_1() -> None:
    schema = folded.record({"name": "paid", "type": "boolean"})
    values = [written(7, schema, {"paid": True})[:-1] + bytes([byte]) for byte in (0, 1, 2, 255)]
    found = verdicts({7: schema}, values, "paid")
    assert [check for check, _ in found] == [Check.PASSED, Check.PASSED, Check.AVRO, Check.AVRO]
    assert [is_met for _, is_met in found][:2] == [False, True]


@pytest.mark.jvm
@settings(max_examples=8, derandomize=True)
@given(topics())
def test_what_check_accepts_the_service_folds_and_what_it_refuses_is_a_sentence(topic: Topic) -> None:
    schemas, records, fields, condition = topic
    texts = {schema_id: json.dumps(schema) for schema_id, schema in schemas.items()}
    known = EventSchemas(texts, fields)
    policy = Settings.model_validate({"reports": {"few": {"keys": ["user_id"], "where": condition}}}).policy()
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    written = {schema_id: record for schema_id, record in records.items() if record is not None}
    if refusal(lambda: plan_fold(spark, known, policy)) or not written:
        return
    values = [header(schema_id) + body_of(schemas[schema_id], record) for schema_id, record in written.items()]
    cut = [value[: len(value) // 2] for value in values]
    assert len(verdicts_of(known, [*values, *cut], condition)) == 2 * len(values)
