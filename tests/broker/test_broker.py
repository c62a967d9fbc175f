"""The broker of the suite is a real Kafka, and it survives what the crash tests do to it."""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from demo.broker import Broker
from tests.support.kafka_cluster import Cluster, container_cluster, docker_answers
from tests.support.seeds import in_turn
from tidemark.pipeline.errors import SetUpError

pytestmark = pytest.mark.broker

DEADLINE_S = 600.0


def send(bootstrap_servers: str, topic: str, value: bytes) -> None:
    """Produce one record and wait until it is acknowledged."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    producer.produce(topic, value)
    assert producer.flush(DEADLINE_S) == 0


def receive(bootstrap_servers: str, topic: str) -> bytes | None:
    """Consume the first record of a topic, in a group of its own."""
    settings: dict[str, str | int] = {"bootstrap.servers": bootstrap_servers, "log_level": 0}
    with closing(Consumer({**settings, "group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest"})) as consumer:
        consumer.subscribe([topic])
        message = consumer.poll(DEADLINE_S)
        assert message is not None
        assert message.error() is None
        return message.value()


def test_a_record_that_was_produced_is_consumed(broker: Cluster, make_topic: Callable[..., str]) -> None:
    topic = make_topic(partitions=3)
    send(broker.bootstrap_servers, topic, b"seen")
    assert receive(broker.bootstrap_servers, topic) == b"seen"


def test_each_topic_that_is_made_is_another_one(make_topic: Callable[..., str]) -> None:
    assert make_topic() != make_topic()


def test_a_topic_that_exists_is_refused_in_one_sentence(broker: Cluster, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    with pytest.raises(SetUpError, match=f"Topic {topic} cannot be created on .*already exists"):
        broker.create_topic(topic)


@pytest.mark.broker
@pytest.mark.jvm
@in_turn(1, 2)
def test_what_was_acknowledged_outlives_a_kill_and_a_stop(tmp_path: Path) -> None:
    with Broker(tmp_path) as broker:
        broker.create_topic("kept")
        send(broker.bootstrap_servers, "kept", b"still here")
        address = broker.bootstrap_servers
        broker.kill()
        assert not broker.running
        broker.restart()
        assert receive(address, "kept") == b"still here"
    with Broker(tmp_path) as heir:
        assert receive(heir.bootstrap_servers, "kept") == b"still here"


@pytest.mark.broker
@pytest.mark.jvm
def test_the_command_says_where_it_listens_and_ends_on_sigterm(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "demo.broker", "--data-dir", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Kafka answers on 127.0.0.1:")
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0


def test_a_taken_port_is_refused_in_one_sentence(broker: Cluster, tmp_path: Path) -> None:
    port = int(broker.bootstrap_servers.rsplit(":", 1)[1])
    with pytest.raises(SetUpError, match=f"Port {port} of 127.0.0.1 is taken"):
        Broker(tmp_path, port=port).start()


@pytest.mark.broker
def test_a_record_comes_back_from_a_container_too() -> None:
    if not docker_answers():
        pytest.skip("no Docker engine answers on this machine, so testcontainers has nothing to start")
    with container_cluster() as cluster:
        cluster.create_topic("contained")
        send(cluster.bootstrap_servers, "contained", b"seen")
        assert receive(cluster.bootstrap_servers, "contained") == b"seen"
