"""Records on a topic, well-formed or not, each with the Kafka timestamp that the test gives it."""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from confluent_kafka import Producer

from tests.support.waiting import PATIENCE_S
from tidemark.producers.encode import encode_one


@dataclass(frozen=True)
class Raw:
    """A record as bytes. A Kafka timestamp of 0 means the time of sending."""

    value: bytes | None
    key: bytes | None = None
    partition: int = 0
    timestamp_ms: int = 0
    headers: Mapping[str, bytes | None] | None = None


def event(
    user: str,
    event_time: int,
    act: str = "visit",
    partition: int = 0,
    timestamp_ms: int = 0,
    page: str = "/",
    event_id: str = "e",
) -> Raw:
    """Returns a well-formed event; its Kafka timestamp is `timestamp_ms`, or else its event time."""
    return Raw(value_of(user, event_time, act, page, event_id), user.encode(), partition, timestamp_ms or event_time)


def json_event(
    user: str,
    event_time: int,
    kind: str,
    partition: int = 0,
    timestamp_ms: int = 0,
    page: str = "/",
    event_id: str = "e",
) -> Raw:
    """Returns an event of any kind in JSON, with the names of our own fields."""
    fields = {"event_id": event_id, "event_type": kind, "user_id": user, "event_time": event_time, "page_url": page}
    return Raw(json.dumps(fields).encode(), user.encode(), partition, timestamp_ms or event_time)


def value_of(user: str, event_time: int, act: str = "visit", page: str = "/", event_id: str = "e") -> bytes:
    """Returns the framed bytes of an event."""
    fields = {"event_id": event_id, "event_type": act, "user_id": user, "event_time": event_time, "page_url": page}
    return encode_one(fields)


def send(bootstrap_servers: str, topic: str, records: Iterable[Raw]) -> None:
    """Produces records in order and waits until all are acknowledged."""
    # A new producer each time: an older producer may not know a partition that was added since.
    settings: dict[str, str | int] = {"bootstrap.servers": bootstrap_servers, "linger.ms": 0, "log_level": 0}
    producer, errors = Producer({**settings, "acks": "all"}), list[object]()
    for record in records:
        producer.produce(
            topic,
            record.value,
            record.key,
            record.partition,
            on_delivery=lambda error, _: errors.append(error) if error else None,
            timestamp=record.timestamp_ms or time.time_ns() // 1_000_000,
            headers=[*(record.headers or {}).items()],
        )
    assert producer.flush(PATIENCE_S) == 0
    assert not errors
