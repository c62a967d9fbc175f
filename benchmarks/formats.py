"""Compares formats of events: Tidemark and Flink SQL drain a backlog in JSON in turn with the same events in Avro."""

import io
import json
from collections.abc import Collection, Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

import fastavro
from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message, Producer
from rich.table import Table

from benchmarks.compared import compared, comparison
from benchmarks.contestants import Contestant, Job
from benchmarks.data import PARTITIONS, count, records, truth_of
from benchmarks.drain import Plan, drain_alone
from benchmarks.errors import BenchmarkError
from benchmarks.task import Drain, Task
from demo.broker import Broker
from tidemark.producers.encode import header
from tidemark.schemas import WRITER_ID, load_schemas

AVRO: Final = "avro"
JSON: Final = "json"
LABELS: Final = {Job.OURS: "tidemark", Job.FLINK_SQL: "Flink, SQL"}
BASE: Final = f"{LABELS[Job.OURS]}, {AVRO}"
_FRAME_BYTES: Final = len(header(WRITER_ID))
_QUEUED: Final = 50_000
"""Half of what the client's queue holds."""
_FLUSH_S: Final = 600.0


def drains_by_format(
    plan: Plan, jobs: Collection[Job], broker: Broker, topic: str, work: Path
) -> Iterator[tuple[str, list[Drain]]]:
    """Drains each format by Tidemark, and by Flink SQL if it is among `jobs`; `topic` has the events in Avro.

    Each drain has a process of its own, round after round.

    Raises BenchmarkError.
    """
    topics = {AVRO: topic, JSON: _json_topic(broker, topic, plan.events)}
    for number in range(plan.rounds):
        for (job, label), (name, of_format) in product(LABELS.items(), topics.items()):
            if job is Job.OURS or job in jobs:
                task = Task(
                    broker.bootstrap_servers,
                    of_format,
                    plan.events,
                    str(work / f"format-{number}-{job.option}-{name}"),
                    drains=plan.drains,
                    format=name,
                    truth=str(truth_of(broker.data_dir, topic)),
                )
                yield f"{label}, {name}", drain_alone(Contestant(job, label), task)


def figures(rounds: dict[str, list[list[Drain]]], events: int) -> dict[str, dict[str, Any]]:
    """Returns the figures of each contestant and format, compared with Tidemark in Avro."""
    return compared(rounds, events, BASE)


def render(found: dict[str, dict[str, Any]], events: int) -> Table:
    """Returns a table with a row per contestant and format."""
    heads = ["contestant and format", "M events/s", "of tidemark, avro", "CPU us/event"]
    return comparison(f"{events:,} events by format, one report", heads, found)


def json_of(value: bytes) -> bytes:
    """Returns an event in Avro as compact JSON, without fields that are null."""
    event: Any = fastavro.schemaless_reader(io.BytesIO(value[_FRAME_BYTES:]), _SCHEMA, None)
    fields = {name: field for name, field in event.items() if field is not None}
    return json.dumps(fields, separators=(",", ":")).encode()


def _schema() -> Any:
    """Returns the writer's schema with the time as a number."""
    schema = json.loads(load_schemas()[WRITER_ID])
    fields = [{**field, "type": "long"} if field["name"] == "event_time" else field for field in schema["fields"]]
    return fastavro.parse_schema({**schema, "fields": fields})


_SCHEMA: Final = _schema()


def _json_topic(broker: Broker, topic: str, events: int) -> str:
    """Returns the name of a copy of `topic` in JSON, created if missing. Raises BenchmarkError."""
    copy = f"{topic}-json"
    if count(broker.bootstrap_servers, copy) is None:
        broker.create_topic(copy, PARTITIONS)
        _copy(broker, topic, copy)
    held = count(broker.bootstrap_servers, copy)
    if held != events:
        raise BenchmarkError(f"topic {copy} holds {held} of {events} events; remove its broker's folder")
    return copy


def _copy(broker: Broker, topic: str, copy: str) -> None:
    servers = {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0}
    producer = Producer({**servers, "linger.ms": 20, "enable.idempotence": True})
    for message in records(broker.bootstrap_servers, topic):
        _produce(producer, copy, message)
        while len(producer) > _QUEUED:
            producer.poll(0.05)
    producer.flush(_FLUSH_S)


def _produce(producer: Producer, topic: str, message: Message) -> None:
    kind, timestamp = message.timestamp()
    at = 0 if kind == TIMESTAMP_NOT_AVAILABLE else timestamp
    producer.produce(topic, json_of(message.value() or b""), message.key(), message.partition() or 0, timestamp=at)
