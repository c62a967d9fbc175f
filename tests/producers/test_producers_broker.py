"""Against a real broker: all sent records are in Kafka, and the truth file is correct."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from demo.broker import Broker
from tests.producers.recount import Recount, cells, decode, partition_numbers, table_cells
from tests.support.brief_java import BRIEF_JVM
from tests.support.topic_reader import consumed
from tests.support.waiting import PATIENCE_S
from tidemark.producers.broker import Target, partitions_of
from tidemark.producers.cli import main
from tidemark.producers.partition import partition_of
from tidemark.producers.tally import Tally
from tidemark.producers.truth import Truth

pytestmark = pytest.mark.broker

LATE_BY = 600_000
MakeTopic = Callable[..., str]
# 60,000 events at 50 per second of event time: 20 minutes, so the late ones are late.
DISORDER = (
    *("--users", "2000", "--seed", "3", "--event-rate", "50", "--jitter", "5s"),
    *("--late-share", "0.02", "--future-share", "0.01", "--malformed-share", "0.03"),
    *("--silent-partition", "2", "--silent-after", "5m"),
)


def simulate(broker: Broker, topic: str, *options: str) -> int:
    return main(["simulate", "--bootstrap-servers", broker.bootstrap_servers, "--topic", topic, *options])


def test_the_topic_contains_the_records_of_the_truth(broker: Broker, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic, now = make_topic(partitions=4), time.time_ns() // 1_000_000
    file = ["--truth", str(tmp_path / "truth.json")]
    assert simulate(broker, topic, "--rate", "0", "--events", "60000", *DISORDER, *file) == 0
    truth, recount = Truth.load(tmp_path / "truth.json"), Recount(60_000, LATE_BY, now + 60_000)
    records: list[tuple[int, bytes]] = []
    for message in consumed(broker.bootstrap_servers, topic):
        partition, key, value = message.partition(), message.key(), message.value()
        assert partition is not None
        assert isinstance(key, bytes)
        recount.add(partition, value)
        records.append((partition, key))
        event = decode(value)
        assert event is None or event["user_id"].encode() == key
    assert table_cells(truth.on_time) == cells(recount.on_time)
    assert table_cells(truth.too_late) == cells(recount.too_late)
    assert truth.partitions == recount.partitions
    assert sum(truth.sent.values()) == len(records) == 60_000
    assert truth.sent["malformed"] == recount.reasons["malformed"] > 0
    assert truth.sent["future"] == recount.reasons["future"] > 0
    assert all(len(seen) == 1 for seen in partition_numbers(records).values())
    assert recount.partitions[2] < recount.partitions[1] / 2  # silent after a quarter of the time


def test_a_key_lands_where_kafkas_own_partitioner_would_put_it(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=4)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2_random"})
    for number in range(500):
        producer.produce(topic, key=f"user-{number}")
    assert producer.flush(PATIENCE_S) == 0
    for message in consumed(broker.bootstrap_servers, topic):
        assert message.partition() == partition_of(message.key() or b"", 4)


def test_a_topic_that_is_not_there_is_a_set_up_error_and_is_not_made(
    broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulate(broker, "no-such-topic", "--events", "1") == 2
    error = capsys.readouterr().err
    assert "there is no topic 'no-such-topic'" in error
    assert "add --create-topic" in error
    assert error.count("\n") == 1
    assert partitions_of(Target(broker.bootstrap_servers, "no-such-topic")) is None


def test_a_topic_is_created_on_request_and_an_existing_topic_is_not_changed(
    broker: Broker, make_topic: MakeTopic
) -> None:
    topic = f"{make_topic(partitions=1)}-made"
    options = ["--create-topic", "--events", "10", "--rate", "0", "--partitions"]
    assert simulate(broker, topic, *options, "3") == 0
    assert simulate(broker, topic, *options, "5") == 0
    assert partitions_of(Target(broker.bootstrap_servers, topic)) == 3
    assert len(list(consumed(broker.bootstrap_servers, topic))) == 20


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_run_in_order_and_the_truth_is_written(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path, number: signal.Signals
) -> None:
    topic, file = make_topic(partitions=4), tmp_path / "truth.json"
    process = started(broker, topic, "--rate", "2000", "--truth", str(file))
    await_a_record(broker, topic)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    total = sum(Truth.load(file).sent.values())
    assert out.startswith(f"sent {total:,} event")
    assert len(list(consumed(broker.bootstrap_servers, topic))) == total > 0


def test_a_broker_that_dies_is_an_error_in_one_sentence_and_no_truth_is_written(tmp_path: Path) -> None:
    file = tmp_path / "truth.json"
    Tally(["user-000000"], 60_000).truth("an earlier run").write(file)
    with Broker(tmp_path / "broker", heap="256m", options=[BRIEF_JVM]) as mortal:
        mortal.create_topic("clicks", partitions=4)
        more = ("--rate", "2000", "--timeout", "15s", "--truth", str(file))
        process = started(mortal, "clicks", *more)
        await_a_record(mortal, "clicks")
        mortal.kill()
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "did not accept all records for clicks" in err
    assert err.count("\n") == 1
    assert out == ""
    assert not file.exists()


def started(broker: Broker, topic: str, *options: str) -> "subprocess.Popen[str]":
    where = ["--bootstrap-servers", broker.bootstrap_servers, "--topic", topic]
    command = [sys.executable, "-m", "tidemark.producers", "simulate", *where, *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def await_a_record(broker: Broker, topic: str) -> None:
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "await"}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(4)])
    deadline = time.monotonic() + PATIENCE_S
    message = None
    while message is None and time.monotonic() < deadline:
        message = consumer.poll(0.5)
    consumer.close()
    assert message is not None
    assert message.error() is None
