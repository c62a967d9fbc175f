"""A run that is killed and started again under its name: what it loses, what it sends twice, and what neither."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from demo.topics import admin
from tests.producers.recount import decode
from tests.support.kafka_cluster import Cluster
from tests.support.processes import producers
from tests.support.waiting import PATIENCE_S, wait_for
from tidemark.producers.cli import main
from tidemark.producers.delivery import Delivery

pytestmark = pytest.mark.broker

MakeTopic = Callable[..., str]
EVENTS = 400_000
KILLS = 3
PLAYS = 10
PARTITIONS = 2
POLL_S = 0.1


def command(broker: Cluster, topic: str, delivery: Delivery) -> list[str]:
    """A backlog that takes a second or two to send: every life but the last is killed in its first steps."""
    target = ["--bootstrap-servers", broker.bootstrap_servers, "--topic", topic, "--timeout", "10m"]
    source = ["--rate", "0", "--events", str(EVENTS), "--event-rate", "5000", "--start-time", "2024-05-01T00:00:00Z"]
    return ["simulate", *target, *source, "--delivery", delivery.value, "--name", f"run-{topic}"]


def killed_and_started_again(broker: Cluster, topic: str, delivery: Delivery, folder: Path) -> int:
    """Runs until one life comes to its end; how many lives that took.

    A life is killed when it has just begun the first of its two steps: where progress is kept before the records go,
    when progress is seen, else when records are.
    """
    watch = Watch(admin(broker.bootstrap_servers), topic)
    seen = watch.progress if delivery is Delivery.AT_MOST_ONCE else watch.log_ends
    for life in itertools.count(1):
        before = wait_for(seen, PATIENCE_S, "an answer")
        with producers(folder / "log", *command(broker, topic, delivery)) as process:
            while life <= KILLS and process.alive and seen() in (None, before):
                pass
            if life > KILLS or not process.alive:
                assert process.wait(PATIENCE_S) == 0, process.said
                return life
    raise AssertionError


@dataclass(frozen=True)
class Watch:
    """Sees what a run does at once: a client of its own for each question would come too late."""

    client: AdminClient
    topic: str

    def progress(self) -> list[int] | None:
        """Returns the committed progress of the run."""
        group = f"run-{self.topic}"
        asked = ConsumerGroupTopicPartitions(group, [TopicPartition(self.topic, 0)])
        try:
            found = self.client.list_consumer_group_offsets([asked])[group].result(PATIENCE_S)
        except KafkaException:
            return None
        return [place.offset for place in found.topic_partitions]

    def log_ends(self) -> list[int] | None:
        """Returns the number of records of each partition; None while the topic is too new to answer."""
        asked = {TopicPartition(self.topic, partition): OffsetSpec.latest() for partition in range(PARTITIONS)}
        try:
            return [found.result(PATIENCE_S).offset for found in self.client.list_offsets(asked).values()]
        except KafkaException:
            return None


def committed_values(broker: Cluster, topic: str) -> list[bytes]:
    """All that is there for a reader of committed records."""
    options = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "reader", "isolation.level": "read_committed"}
    consumer = Consumer({**options, "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    values, ended = list[bytes](), set[int | None]()
    while len(ended) < PARTITIONS:
        for message in consumer.consume(20_000, timeout=POLL_S):
            if (error := message.error()) is None:
                values.append(message.value() or b"")
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(message.partition())
    consumer.close()
    return values


def arrived(broker: Cluster, topic: str) -> Counter[str]:
    """Returns how often each event is in Kafka."""
    return Counter(event_id(value) for value in committed_values(broker, topic))


def event_id(value: bytes) -> str:
    """The first field of an event, without decoding the others: hundreds of thousands are read."""
    length = value[5] >> 1
    return value[6 : 6 + length].decode()


def plays(broker: Cluster, make_topic: MakeTopic, delivery: Delivery, folder: Path) -> Iterator[Counter[str]]:
    """Yields how often each event is in Kafka after a run with restarts, for runs on different topics.

    On a busy machine a run may end before it is killed, or be killed between its steps.
    """
    for _ in range(PLAYS):
        topic = make_topic(PARTITIONS)
        if killed_and_started_again(broker, topic, delivery, folder) > 1:
            yield arrived(broker, topic)


def test_exactly_once_loses_nothing_and_sends_nothing_twice(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    found = next(plays(broker, make_topic, Delivery.EXACTLY_ONCE, tmp_path))
    assert len(found) == EVENTS
    assert found.total() == EVENTS


def test_at_least_once_loses_nothing_and_sends_some_twice(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    for found in plays(broker, make_topic, Delivery.AT_LEAST_ONCE, tmp_path):
        assert len(found) == EVENTS
        if found.total() > EVENTS:
            return
    pytest.fail("no event was sent twice")


def test_at_most_once_loses_some_and_sends_nothing_twice(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    for found in plays(broker, make_topic, Delivery.AT_MOST_ONCE, tmp_path):
        assert found.total() == len(found)
        if len(found) < EVENTS:
            return
    pytest.fail("no event was lost")


@pytest.mark.parametrize("delivery", list(Delivery))
def test_a_run_that_came_to_its_end_has_nothing_left_to_send(
    broker: Cluster, make_topic: MakeTopic, delivery: Delivery
) -> None:
    topic = make_topic(PARTITIONS)
    small = [*command(broker, topic, delivery), "--events", "30000"]
    assert main(small) == 0
    assert main(small) == 0
    assert arrived(broker, topic).total() == 30_000


def test_event_ids_are_read_as_avro_has_them(broker: Cluster, make_topic: MakeTopic) -> None:
    topic = make_topic(PARTITIONS)
    assert main([*command(broker, topic, Delivery.AT_LEAST_ONCE), "--events", "100"]) == 0
    values = committed_values(broker, topic)
    assert len(values) == 100
    assert {event_id(value) for value in values} == {event["event_id"] for value in values if (event := decode(value))}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--delivery", "exactly-once"], "exactly-once delivery needs --name"),
        (["--name", "mine"], "--name needs --rate 0, --event-rate and --start-time"),
        (["--delivery", "twice"], "twice"),
    ],
)
def test_invalid_options_of_delivery_are_reported(
    broker: Cluster, options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", "--bootstrap-servers", broker.bootstrap_servers, *options]) == 2
    assert sentence in capsys.readouterr().err
