"""Arrays, maps and records of several schema versions share a batch of columns: each row has what its record has."""

import io
import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from random import Random
from typing import Any, Final

import fastavro
import pytest

from tests.fuzz.bulk import Bulk
from tests.fuzz.random_versions import Kind, Version, is_same, random_kind
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.folded import MAPPED, NOW, record
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import SEED
from tidemark.pipeline.decoding.decode import reader
from tidemark.pipeline.kafka.ranges import TopicRanges
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import KafkaSettings, SparkSettings
from tidemark.producers.encode import header
from tidemark.schemas.fields import EventFields, EventSchemas

pytestmark = pytest.mark.broker

TOPICS, FEW = 5, 300
"""Sets of random versions, and the records of each."""
COUNT: Final = 20_000
"""Records of a partition: more than two batches of columns."""
PLACE: Final = {"type": "record", "name": "Place", "fields": [
    {"name": "city", "type": ["null", "string"]}, {"name": "tags", "type": {"type": "array", "items": "string"}},
]}  # fmt: skip
KINDS: Final[dict[str, Any]] = {
    "texts": {"type": "array", "items": ["null", "string"]},
    "numbers": {"type": "array", "items": "long"},
    "nested": {"type": "array", "items": {"type": "array", "items": "int"}},
    "counts": {"type": "map", "values": ["null", "long"]},
    "lists": {"type": "map", "values": {"type": "array", "items": "string"}},
    "places": {"type": "array", "items": PLACE},
    "maybe": ["null", {"type": "array", "items": "boolean"}],
}


def version(*names: str) -> dict[str, Any]:
    return record(*({"name": name, "type": KINDS[name]} for name in names))


VERSIONS: Final = {
    7: version(*KINDS),
    8: version(*reversed(KINDS)),
    9: version("counts", "texts", "nested"),
}
WHERE: Final = " OR ".join(f"{name} IS NULL" for name in KINDS)


def inner(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [*fields]}


def event(chance: Random, schema_id: int) -> dict[str, Any]:
    """Returns an event with values for the fields of its version."""
    make: dict[str, Callable[[], Any]] = {
        "texts": lambda: [chance.choice([None, "", "a", "bc"]) for _ in range(chance.randrange(4))],
        "numbers": lambda: [chance.randrange(-99, 2**40) for _ in range(chance.randrange(4))],
        "nested": lambda: [
            [chance.randrange(9) for _ in range(chance.randrange(3))] for _ in range(chance.randrange(3))
        ],
        "counts": lambda: {key: chance.choice([None, 1, 2**40]) for key in "kl"[: chance.randrange(3)]},
        "lists": lambda: {key: [key] * chance.randrange(3) for key in "mn"[: chance.randrange(3)]},
        "places": lambda: [
            {"city": chance.choice([None, "Rome"]), "tags": ["t"] * chance.randrange(3)}
            for _ in range(chance.randrange(3))
        ],
        "maybe": lambda: chance.choice([None, [], [True, False], [False]]),
    }
    fields = [field["name"] for field in VERSIONS[schema_id]["fields"][2:]]
    return {"u": "ann", "t": NOW} | {name: make[name]() for name in fields}


def encoded(schema_id: int, fields: Mapping[str, Any], parsed: Mapping[int, Any]) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, parsed[schema_id], fields)
    return header(schema_id) + body.getvalue()


def test_rows_of_mixed_versions_have_the_values_of_their_records_however_the_range_is_cut(
    broker: Cluster, make_topic: Callable[..., str]
) -> None:
    chance, topic = Random(SEED), make_topic(1)
    parsed = {schema_id: fastavro.parse_schema(schema) for schema_id, schema in VERSIONS.items()}
    chosen = [chance.choice([*VERSIONS]) for _ in range(COUNT)]
    sent = [event(chance, schema_id) for schema_id in chosen]
    values = [encoded(schema_id, fields, parsed) for schema_id, fields in zip(chosen, sent, strict=True)]
    for place in chance.sample(range(COUNT), 200):  # the items of a record that ends too early are no other record's
        values[place], sent[place] = values[place][:-1], {}
    Bulk(broker.bootstrap_servers, topic, 1, NOW).send(values, [None] * COUNT)
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    texts = {schema_id: json.dumps(schema) for schema_id, schema in VERSIONS.items()}
    events = reader(EventSchemas(texts, MAPPED), WHERE)
    kafka = KafkaSettings(bootstrap_servers=broker.bootstrap_servers, topic=topic)
    cuts = [0, *sorted(chance.sample(range(1, COUNT), 3)), COUNT]
    for start, end in pairwise(cuts):
        rows = TopicRanges(spark, kafka, {0: start}, {0: end}).read(events.plan)
        columns = [column.alias(name) for name, column in zip(events.names, events.columns, strict=True)]
        found = [row.asDict(recursive=True) for row in rows.orderBy("offset").select(*columns).collect()]
        for offset, (row, fields) in enumerate(zip(found, sent[start:end], strict=True), start):
            assert {name: row[name] for name in KINDS} == {name: fields.get(name) for name in KINDS}, offset


def test_rows_of_random_versions_have_the_values_of_their_records(
    broker: Cluster, make_topic: Callable[..., str]
) -> None:
    chance, topic = Random(SEED), make_topic(1)
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    kafka = KafkaSettings(bootstrap_servers=broker.bootstrap_servers, topic=topic)
    bulk = Bulk(broker.bootstrap_servers, topic, 1, NOW)
    for start in range(0, TOPICS * FEW, FEW):
        further = Kind("record", [random_kind(chance) for _ in range(4)], is_renamed=True)
        versions = {schema_id: Version(chance, index, 3, further) for index, schema_id in enumerate((7, 8, 9))}
        parsed = {schema_id: fastavro.parse_schema(version.schema) for schema_id, version in versions.items()}
        chosen = [chance.choice([*versions]) for _ in range(FEW)]
        events = [versions[schema_id].event() for schema_id in chosen]
        values = [encoded(schema_id, event, parsed) for schema_id, (event, _) in zip(chosen, events, strict=True)]
        bulk.send(values, [None] * FEW)
        texts = {schema_id: json.dumps(version.schema) for schema_id, version in versions.items()}
        names = [f"f{at}_0" for at in range(4)]
        plan = reader(EventSchemas(texts, EventFields(user="who.id", time="t", kind="")), " = ".join(names))
        rows = TopicRanges(spark, kafka, {0: start}, {0: start + FEW}).read(plan.plan).orderBy("offset")
        for row, (_, expected) in zip(rows.select(*plan.columns).collect(), events, strict=True):
            found = row.asDict(recursive=True)
            assert found["user_id"] == "ann"
            assert is_same({name: found[name] for name in names}, expected), (texts, found, expected)


PATHS: Final = ("context.campaign.cost", "context.campaign.name", "traits.plan.0", "context.campaign.none")
CAMPAIGN: Final = {
    "name": "campaign",
    "type": ["null", inner("Campaign", {"name": "name", "type": ["null", "string"]}, {"name": "cost", "type": "int"})],
}
TRAITS: Final = {"name": "traits", "type": ["null", "string"]}
AROUND: Final = {
    7: record({"name": "context", "type": inner("Context", CAMPAIGN)}, TRAITS),
    8: record(TRAITS, {"name": "context", "type": ["null", inner("Context", TRAITS, CAMPAIGN)]}),
    9: record({"name": "other", "type": "string"}),
}
"""Versions that lack parts of the paths, and have other fields around."""


def around(chance: Random, schema_id: int) -> dict[str, Any]:
    """Returns an event with a campaign and traits."""
    made = {
        "campaign": chance.choice([None, {"name": chance.choice([None, "", "spring"]), "cost": 2**31 - 1}]),
        "traits": chance.choice([None, "no JSON", '{"plan": ["pro", 1]}', '{"plan": {}}']),
        "other": "x",
    }
    context = chance.choice([made, None]) if schema_id == 8 else made
    return {"u": "ann", "t": NOW, "context": context, **made}


def at_paths(schema_id: int, event: Mapping[str, Any]) -> tuple[Any, ...]:
    """Returns the values that an event has at `PATHS`."""
    if schema_id == 9:
        return (None,) * len(PATHS)
    campaign = (event["context"] or {}).get("campaign") or {}
    return campaign.get("cost"), campaign.get("name"), "pro" if "pro" in (event["traits"] or "") else None, None


def test_fields_at_paths_have_the_values_of_their_records_whatever_the_version(
    broker: Cluster, make_topic: Callable[..., str]
) -> None:
    """Paths lead along records, and inside of a text."""
    chance, topic = Random(SEED), make_topic(1)
    parsed = {schema_id: fastavro.parse_schema(schema) for schema_id, schema in AROUND.items()}
    sent = [(schema_id, around(chance, schema_id)) for schema_id in chance.choices([*AROUND], k=FEW)]
    values = [encoded(schema_id, event, parsed) for schema_id, event in sent]
    Bulk(broker.bootstrap_servers, topic, 1, NOW).send(values, [None] * FEW)
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    events = reader(EventSchemas({of: json.dumps(schema) for of, schema in AROUND.items()}, MAPPED), "", PATHS)
    assert events.missing == {"context.campaign.none"}
    kafka = KafkaSettings(bootstrap_servers=broker.bootstrap_servers, topic=topic)
    rows = TopicRanges(spark, kafka, {0: 0}, {0: FEW}).read(events.plan).orderBy("offset")
    found = [tuple(row)[-len(PATHS) :] for row in rows.select(*events.columns).collect()]
    assert found == [at_paths(schema_id, event) for schema_id, event in sent]
