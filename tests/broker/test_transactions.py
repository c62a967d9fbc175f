"""Producers with transactions: what they aborted is not read, and the ledger accounts for its offsets."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.repeating import repeating
from tests.support.services import ANY_TIMESTAMP, Clock, settings_of
from tests.support.topic_writer import Raw, event, send
from tests.support.waiting import wait_for
from tests.support.warehouse import page_views
from tidemark.pipeline.app import open_service
from tidemark.pipeline.kafka.topic import connect
from tidemark.pipeline.settings.model import KafkaSettings, Settings

pytestmark = pytest.mark.broker

MakeTopic = Callable[..., str]
START = 1_000_000
PATIENCE_S = 600
SETTINGS = {"time": {"bound": "0s", "allowed_lateness": "0s", "idle_timeout": "1h"}, "window": {"size": "10s"}}


def transaction(producer: Producer, topic: str, records: Sequence[Raw]) -> None:
    """Begins one and sends its records; the caller ends it."""
    producer.begin_transaction()
    for record in records:
        producer.produce(topic, record.value, record.key, record.partition, timestamp=record.timestamp_ms)
    producer.flush()


def transactional(broker: Cluster, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": name})
    producer.init_transactions(PATIENCE_S)
    return producer


def wait_for_markers(settings: Settings, readable_ends: dict[int, int], ends: dict[int, int]) -> None:
    """Waits for the markers of ended transactions: the coordinator writes them after it has answered the producer."""
    topic, written = connect(settings.kafka), (dict.fromkeys(ends, 0), readable_ends, ends)
    wait_for(lambda: topic.offsets() == written, PATIENCE_S, f"the markers of transactions: {written}")


def test_records_that_arrive_while_the_broker_answers_are_not_held_back(broker: Cluster, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    offsets = connect(KafkaSettings(topic=topic, bootstrap_servers=broker.bootstrap_servers)).offsets

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

    def write() -> None:
        producer.produce(topic, b"{}")
        producer.flush()

    with repeating(write):
        wait_for(lambda: offsets().ends[0] > 0, PATIENCE_S, "a record")
        answers = [offsets() for _ in range(200)]
    assert [answer for answer in answers if answer.readable_ends[0] < answer.ends[0]] == []


def test_committed_transactions_are_read_and_aborted_ones_are_a_gap(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    producer = transactional(broker, topic)
    transaction(producer, topic, [event("ann", START), event("ann", START + 1000)])
    producer.commit_transaction(30)
    transaction(producer, topic, [event("bob", START + 2000)])
    producer.abort_transaction(30)
    transaction(producer, topic, [event("ann", START + 10_000)])
    producer.commit_transaction(30)
    settings = settings_of(broker, topic, tmp_path, **SETTINGS)
    wait_for_markers(settings, {0: 7}, {0: 7})
    with open_service(settings) as service:
        service.drain()
    balance = assert_conserved(tmp_path)
    # Two markers of commits, the aborted record, and the marker of its abort.
    assert (balance.records, balance.gap) == (3, 4)
    assert page_views(tmp_path) == {("ann", START, START + 10_000): (2, 0, 0)}


def test_an_open_transaction_is_read_once_it_is_committed_and_holds_what_came_after_it(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    first, second = transactional(broker, f"{topic}-1"), transactional(broker, f"{topic}-2")
    transaction(first, topic, [event("ann", START)])
    transaction(second, topic, [event("bob", START + 1000)])
    second.commit_transaction(30)
    settings = settings_of(broker, topic, tmp_path, **SETTINGS)
    wait_for_markers(settings, {0: 0}, {0: 3})  # two records and a marker, all after the start of an open transaction
    with open_service(settings) as service:
        service.drain()
        assert assert_conserved(tmp_path).records == 0
        first.commit_transaction(30)
        wait_for_markers(settings, {0: 4}, {0: 4})
        service.drain()
    balance = assert_conserved(tmp_path)
    assert (balance.records, balance.gap, balance.watermark) == (2, 2, START + 1000)


def test_a_partition_whose_records_wait_for_their_transaction_is_not_idle(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic, clock = make_topic(2, **ANY_TIMESTAMP), Clock()
    time = {"bound": "0s", "allowed_lateness": "0s", "idle_timeout": "30s"}
    slow = transactional(broker, topic)
    settings = settings_of(broker, topic, tmp_path, time=time, window={"size": "10s"})
    with open_service(settings, now=clock) as service:
        send(broker.bootstrap_servers, topic, [event("ann", START, partition=number) for number in (0, 1)])
        service.drain()
        transaction(slow, topic, [event("bob", START + 2_000, partition=1)])
        clock.move(40_000)
        send(broker.bootstrap_servers, topic, [event("ann", START + 60_000, partition=0)])
        service.drain()
        service.tick()
        assert assert_conserved(tmp_path).watermark == START, "what is unread held the watermark"
        slow.commit_transaction(30)
        wait_for_markers(settings, {0: 2, 1: 3}, {0: 2, 1: 3})
        service.drain()
    balance = assert_conserved(tmp_path)
    assert (balance.counted, balance.too_late) == (4, 0)
