"""Creates topics of bad records only, about as large as the events of the backlog."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from confluent_kafka import Producer

from benchmarks.data import PARTITIONS, count
from benchmarks.errors import BenchmarkError
from demo.broker import Broker
from tidemark.producers.encode import header

NOISE: Final = "noise"
"""Random bytes, as if a setting named the wrong topic."""
FRAMED: Final = "framed noise"
"""Random bytes after the frame of a known schema: every record is decoded as Avro, and fails."""
_FRAMES: Final = {NOISE: b"", FRAMED: header(1)}
_BYTES: Final = (180, 240)
_AT_ONCE: Final = 10_000
_USERS: Final = 50_000
_FLUSH_S: Final = 600.0
_WAIT_S: Final = 0.05


def bad_topic(broker: Broker, kind: str, records: int) -> str:
    """Returns the name of a topic with `records` bad records, created if missing. Raises BenchmarkError."""
    topic = f"{kind.replace(' ', '-')}-{records}"
    if count(broker.bootstrap_servers, topic) is None:
        broker.create_topic(topic, PARTITIONS)
        _produce(broker, topic, _FRAMES[kind], records)
    held = count(broker.bootstrap_servers, topic)
    if held != records:
        raise BenchmarkError(f"topic {topic} holds {held} of {records} bad records; remove its broker's folder")
    return topic


def _produce(broker: Broker, topic: str, frame: bytes, records: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 20, "acks": "all", "log_level": 0})
    for number, messages in enumerate(_messages(frame, records)):
        while len(producer) > _AT_ONCE * 5:  # the client's queue holds ten times as many
            producer.poll(_WAIT_S)
        producer.produce_batch(topic, messages, partition=number % PARTITIONS)
        producer.poll(0)
    producer.flush(_FLUSH_S)


def _messages(frame: bytes, records: int) -> Iterator[list[dict[str, bytes]]]:
    """Yields seeded messages in chunks, with user ids as keys."""
    chance = np.random.default_rng(1)
    for start in range(0, records, _AT_ONCE):
        number = min(_AT_ONCE, records - start)
        ends = np.cumsum(chance.integers(*_BYTES, number)).tolist()
        noise, users = chance.bytes(ends[-1]), chance.integers(0, _USERS, number).tolist()
        yield [
            {"key": b"user-%d" % user, "value": frame + noise[begin:end]}
            for user, begin, end in zip(users, [0, *ends], ends, strict=False)
        ]
