"""The topic that all contestants drain: a seeded backlog on an embedded broker."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from benchmarks.errors import BenchmarkError
from benchmarks.process import run
from demo.broker import Broker
from demo.topics import admin

PARTITIONS = 4
USERS = 50_000
SPAN_S = 240
"""Event time of a backlog of any size, in seconds: 12 M events are 50,000 per second, in four windows."""
DAY_S = 86_400
YEAR_S = 365 * DAY_S
DISORDER = ("--jitter", "5s", "--late-share", "0.01", "--late-by", "10m")
_LATE_AFTER = 1 / 6
"""Share of the backlog before late events start (2 M of 12 M): no event is too late before the first commit."""
_START = "2024-05-01T00:00:00Z"
_REQUEST_S = 300.0
_PAUSE_S = 0.2
_AT_ONCE = 50_000
_PATIENCE_S = 30.0


@dataclass(frozen=True)
class Crowd:
    """The users of a backlog, by default equally active; parameters as of `producers simulate`."""

    users: int = USERS
    zipf: float = 0.0
    hot_share: float = 0.0

    def __str__(self) -> str:
        shapes = [f"Zipf {self.zipf:g}"] * (self.zipf > 0) + [f"one with {self.hot_share:.0%}"] * (self.hot_share > 0)
        return ", ".join([f"{self.users:,}", *shapes])

    @property
    def of_topic(self) -> str:
        """The part of the topic's name that identifies the crowd."""
        return "-".join([str(self.users), *(f"{value:g}" for value in (self.zipf, self.hot_share) if value)])

    @property
    def options(self) -> list[str]:
        """The options of the simulator."""
        return ["--users", str(self.users), "--zipf", str(self.zipf), "--hot-share", str(self.hot_share)]


@contextmanager
def backlog(
    events: int, data_dir: Path, crowd: Crowd = Crowd(), partitions: int = PARTITIONS, span_s: int = SPAN_S
) -> Iterator[tuple[Broker, str]]:
    """Yields a broker and a topic with `events` events of `crowd`, produced unless `data_dir` already has them.

    Raises BenchmarkError if the topic has another number of events, or production fails.
    """
    unusual = [f"on-{partitions}"] * (partitions != PARTITIONS) + [f"over-{span_s}s"] * (span_s != SPAN_S)
    topic = "-".join(["backlog", str(events), crowd.of_topic, *unusual])
    with Broker(data_dir) as broker:
        held = count(broker.bootstrap_servers, topic)
        if held is None:
            broker.create_topic(topic, partitions)
            truth = ["--truth", str(truth_of(data_dir, topic).absolute())]
            run([*_simulate(broker, topic, events, crowd, span_s), *truth], data_dir / "producer.log")
            held = count(broker.bootstrap_servers, topic)
        if held != events:
            raise BenchmarkError(f"topic {topic} in {data_dir} holds {held} events; remove that folder and start again")
        yield broker, topic


def truth_of(data_dir: Path, topic: str) -> Path:
    """Returns the path of the truth file of a backlog's topic."""
    return data_dir / f"{topic}.truth.json"


def count(bootstrap_servers: str, topic: str) -> int | None:
    """Returns the number of records of the topic, None if it does not exist. Raises BenchmarkError."""
    ends = _ends(bootstrap_servers, topic)
    return None if ends is None else sum(ends.values())


def records(bootstrap_servers: str, topic: str) -> Iterator[Message]:
    """Yields the records that the topic has now, in order within each partition.

    Raises BenchmarkError if they cannot be read.
    """
    settings = {"bootstrap.servers": bootstrap_servers, "group.id": "benchmarks", "enable.auto.commit": False}
    consumer, ends = Consumer(settings), _ends(bootstrap_servers, topic) or {}
    left = sum(ends.values())
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in ends])
    try:
        while left > 0:
            messages = consumer.consume(min(_AT_ONCE, left), _PATIENCE_S)
            if not messages or any(message.error() for message in messages):
                raise BenchmarkError(f"{left} records of topic {topic} could not be read again")
            left -= len(messages)
            yield from messages
    finally:
        consumer.close()


def _ends(bootstrap_servers: str, topic: str) -> dict[int, int] | None:
    """Returns the end offset of each partition, None if the topic does not exist. Raises BenchmarkError."""
    client, deadline = admin(bootstrap_servers), time.monotonic() + _REQUEST_S
    while True:
        try:
            return _read_ends(client, topic)
        except KafkaException as error:
            # A broker that was just started with old data answers before it leads its partitions.
            if time.monotonic() > deadline:
                raise BenchmarkError(f"the broker does not return the size of topic {topic}: {error}") from error
            time.sleep(_PAUSE_S)


def _read_ends(client: AdminClient, topic: str) -> dict[int, int] | None:
    topics = client.list_topics(timeout=_REQUEST_S).topics
    if topic not in topics:
        return None
    ends = {TopicPartition(topic, partition): OffsetSpec.latest() for partition in topics[topic].partitions}
    return {end.partition: int(future.result(_REQUEST_S).offset) for end, future in client.list_offsets(ends).items()}


def _simulate(broker: Broker, topic: str, events: int, crowd: Crowd, span_s: int) -> list[str]:
    target = ["producers", "simulate", "--bootstrap-servers", broker.bootstrap_servers, "--topic", topic]
    pace = ["--rate", "0", "--events", str(events), "--event-rate", str(events / span_s), "--start-time", _START]
    return [*target, *pace, *crowd.options, *DISORDER, "--late-after", f"{int(span_s * _LATE_AFTER)}s"]
