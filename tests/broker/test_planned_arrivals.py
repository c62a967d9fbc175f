"""Batches as spans of arrival, planned from a real broker: whatever the topic is like, each cut is at one arrival.

timestamp   0.1   0.3   0.2   0.7      seconds: the third record arrives at 0.3
arrival     0.1   0.3   0.3   0.7      until 0.4: the batch has three records
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from itertools import accumulate, pairwise
from pathlib import Path
from random import Random
from typing import Final

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from tests.broker.test_reading_on import widen
from tests.broker.test_transactions import transaction, transactional
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import SEED
from tests.support.services import ANY_TIMESTAMP
from tests.support.topic_reader import consumed
from tests.support.topic_writer import Raw, send
from tests.support.waiting import PATIENCE_S, wait_for
from tidemark.pipeline.errors import TransientError
from tidemark.pipeline.event_time.arrival import STEP_MS
from tidemark.pipeline.kafka.clients import planner_options
from tidemark.pipeline.kafka.ranges import TopicRanges
from tidemark.pipeline.kafka.stream import Stream
from tidemark.pipeline.runtime.connector import PLANNER
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import BatchSettings, KafkaSettings, SparkSettings

pytestmark = pytest.mark.broker

SETTLING_MS: Final = 200

MakeTopic = Callable[..., str]
Place = tuple[int, int]
"""A partition and an offset."""
START = 1_700_000_000_000
HOURS = 36_000_000


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return spark_session(SparkSettings(conf=BRIEF_DRIVER))


class Reader:
    """Reads a topic and collects the ranges of its batches."""

    def __init__(
        self, spark: SparkSession, broker: Cluster, topic: str, most: int = 100_000, settling_ms: int = SETTLING_MS
    ) -> None:
        self.batches = list[TopicRanges]()
        self.spark, self.servers, self.topic = spark, broker.bootstrap_servers, topic
        self.kafka = KafkaSettings(bootstrap_servers=broker.bootstrap_servers, topic=topic)
        self.batch = BatchSettings(max_records=most, interval=timedelta(milliseconds=100))
        self.stream = Stream(spark, self.kafka, self.batch, self.batches.append, settling_ms)

    @property
    def ends(self) -> Mapping[int, int]:
        return self.batches[-1].ends if self.batches else {}

    @property
    def until(self) -> int:
        until = self.batches[-1].until if self.batches else 0
        assert until is not None
        return until

    def drain(self, positions: Mapping[int, int] | None = None) -> None:
        """Reads on from the last batch, or from `positions`."""
        self.stream.drain(positions or self.ends, self.until)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Reads the topic from its start until the context ends."""
        with tempfile.TemporaryDirectory() as checkpoint:
            query = self.stream.start({}, Path(checkpoint), 0)
            try:
                yield
            finally:
                self.stream.stop(query)

    def wait_for(self, ends: Mapping[int, int]) -> None:
        wait_for(lambda: self.ends == ends, PATIENCE_S, f"the offsets {ends}")

    def arrivals(self) -> dict[Place, int]:
        """Returns the arrival of every record of the topic that can be read, from what the broker has stored."""
        times: dict[int, list[Place]] = {}
        for message in consumed(self.servers, self.topic):
            times.setdefault(message.partition() or 0, []).append((message.offset() or 0, message.timestamp()[1]))
        return {
            (partition, offset): arrival
            for partition, records in times.items()
            for (offset, _), arrival in zip(
                sorted(records), accumulate((each for _, each in sorted(records)), max), strict=True
            )
        }

    def check_spans(self) -> None:
        """Fails unless each batch ends at an arrival, or within its step."""
        arrivals = self.arrivals()
        for before, batch in pairwise(self.batches):
            assert before.ends == {partition: batch.starts[partition] for partition in before.ends}
            assert batch.starts != batch.ends, "a batch without records"
            assert (before.until or 0) <= (batch.until or 0)
        for batch in self.batches:
            assert batch.until is not None
            is_whole = batch.until % STEP_MS == 0
            assert is_whole
            read = {place for place in arrivals if place[1] < batch.ends.get(place[0], 0)}
            assert read >= {place for place, arrival in arrivals.items() if arrival < batch.until}
            assert all(arrivals[place] < batch.until + STEP_MS for place in read)


def disorderly(chance: Random, partition: int, count: int, start: int, pace: int) -> list[Raw]:
    """Returns records of a partition whose timestamps rise by `pace` milliseconds on average."""
    times = (start + n * pace + chance.choice([0, 0, -5 * pace, -40 * pace]) for n in range(count))
    return [Raw(b"x", partition=partition, timestamp_ms=each) for each in times]


def test_a_backlog_is_cut_at_the_same_arrival_in_all_partitions_within_the_limit(
    spark: SparkSession, broker: Cluster, make_topic: MakeTopic
) -> None:
    topic, chance = make_topic(3, **ANY_TIMESTAMP), Random(SEED)
    dense = [Raw(b"x", partition=1, timestamp_ms=START + 9_000)] * 300
    records = [
        *disorderly(chance, 0, 500, START, 40),
        *disorderly(chance, 1, 400, START - 60_000, 150),
        *dense,
        *disorderly(chance, 1, 50, START + 9_000, 150),
        *disorderly(chance, 2, 20, START + 8_000, 86_400_000),
        Raw(b"x", partition=0, timestamp_ms=-1),
        Raw(b"x", partition=0, timestamp_ms=1),
    ]
    send(broker.bootstrap_servers, topic, records)
    reader, began = Reader(spark, broker, topic, most=100), now_ms()
    reader.drain({0: 0, 1: 0, 2: 0})
    assert reader.ends == {0: 502, 1: 750, 2: 20}
    assert began < reader.until <= now_ms() - SETTLING_MS
    reader.check_spans()
    counts = [sum(each.ends.values()) - sum(each.starts.values()) for each in reader.batches]
    assert max(counts) <= 103
    assert len(counts) < 40
    within = [each for each in reader.batches if each.until == START + 9_000]
    assert len(within) >= 3, "a step that is larger than a batch is cut within"


def test_a_topic_with_times_of_the_broker_is_cut_at_arrivals_while_it_grows(
    spark: SparkSession, broker: Cluster, make_topic: MakeTopic
) -> None:
    topic = make_topic(2, message_timestamp_type="LogAppendTime")
    reader = Reader(spark, broker, topic, settling_ms=2_000)
    with reader.running():
        for number in range(20):
            send(broker.bootstrap_servers, topic, [Raw(b"x", partition=number % 2)] * 5)
        reader.wait_for({0: 50, 1: 50})
    reader.check_spans()


def test_records_ahead_of_the_clock_are_read_after_a_second_and_do_not_hold_their_partition(
    spark: SparkSession, broker: Cluster, make_topic: MakeTopic
) -> None:
    topic, ahead = make_topic(2, **ANY_TIMESTAMP), now_ms() + HOURS
    reader = Reader(spark, broker, topic)
    with reader.running():
        send(broker.bootstrap_servers, topic, [Raw(b"x", partition=0), Raw(b"x", partition=0, timestamp_ms=ahead)])
        reader.wait_for({0: 2, 1: 0})
        assert reader.until < ahead - HOURS // 2
        send(broker.bootstrap_servers, topic, [Raw(b"x", partition=n) for n in (0, 1)])
        reader.wait_for({0: 3, 1: 1})
    assert now_ms() < ahead


def test_an_open_transaction_holds_the_cut_of_all_partitions(
    spark: SparkSession, broker: Cluster, make_topic: MakeTopic
) -> None:
    topic = make_topic(2, **ANY_TIMESTAMP)
    producer = transactional(broker, topic)
    send(broker.bootstrap_servers, topic, [Raw(b"x", partition=n, timestamp_ms=START) for n in (0, 1)])
    transaction(producer, topic, [Raw(b"x", partition=0, timestamp_ms=START + 1_000)])
    send(broker.bootstrap_servers, topic, [Raw(b"x", partition=1, timestamp_ms=START + n) for n in (999, 1_200, 2_000)])
    reader = Reader(spark, broker, topic)
    reader.drain({0: 0, 1: 0})
    assert (reader.ends, reader.until) == ({0: 1, 1: 2}, START + 1_000)
    reader.drain()
    assert (reader.ends, reader.until) == ({0: 1, 1: 2}, START + 1_000)
    producer.commit_transaction(30)

    def has_read_all() -> bool:
        reader.drain()
        return reader.ends == {0: 3, 1: 4}

    wait_for(has_read_all, PATIENCE_S, "the marker of the transaction")
    assert reader.until > START + 2_000


def test_a_partition_that_is_added_is_read_from_its_start(
    spark: SparkSession, broker: Cluster, make_topic: MakeTopic
) -> None:
    topic = make_topic(1)
    send(broker.bootstrap_servers, topic, [Raw(b"x")] * 3)
    reader = Reader(spark, broker, topic)
    with reader.running():
        reader.wait_for({0: 3})
        widen(broker, topic, partitions=2)
        send(broker.bootstrap_servers, topic, [Raw(b"x", partition=n) for n in (0, 1)])
        reader.wait_for({0: 4, 1: 1})
    arrivals = reader.arrivals()
    assert all(arrival < reader.until for arrival in arrivals.values())


def test_a_drain_reads_all_that_was_sent_before_it_and_a_second_one_does_not_wait(
    spark: SparkSession, broker: Cluster, make_topic: MakeTopic
) -> None:
    topic = make_topic(2)
    reader = Reader(spark, broker, topic)
    reader.drain({0: 0, 1: 0})
    assert (reader.ends, reader.until) == ({0: 0, 1: 0}, 0)
    ahead = Raw(b"x", partition=1, timestamp_ms=now_ms() + HOURS // 100)
    send(broker.bootstrap_servers, topic, [Raw(b"x"), Raw(b"x", partition=1), ahead, Raw(b"x", partition=1)])
    sent = now_ms()
    reader.drain()
    assert reader.ends == {0: 1, 1: 3}
    assert reader.until > sent
    reader.drain()
    assert reader.ends == {0: 1, 1: 3}


def test_a_topic_that_is_shorter_than_what_was_read_is_not_read(
    spark: SparkSession, broker: Cluster, make_topic: MakeTopic
) -> None:
    topic = make_topic(1)
    send(broker.bootstrap_servers, topic, [Raw(b"x")])
    with pytest.raises(TransientError, match="was read to offset 7, but ends at 1"):
        Reader(spark, broker, topic).drain({0: 7})


def is_waiting(spark: SparkSession) -> bool:
    """Returns whether a thread of the JVM is in the planner's wait."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    stacks = jvm.java.lang.Thread.getAllStackTraces().values()
    return any("ArrivalPlan.sleep" in str(call) for stack in stacks for call in stack)


def test_a_query_that_waits_for_its_goal_to_settle_can_be_stopped(
    spark: SparkSession, broker: Cluster, make_topic: MakeTopic
) -> None:
    topic = make_topic(1)
    send(broker.bootstrap_servers, topic, [Raw(b"x")])
    reader = Reader(spark, broker, topic)
    options = planner_options(reader.kafka, reader.batch, {0: 0}, 0) | {"settling.ms": str(HOURS)}
    ranges = spark.readStream.format(PLANNER).options(**options).load()
    query = ranges.writeStream.format("noop").trigger(availableNow=True).start()
    try:
        wait_for(lambda: is_waiting(spark), PATIENCE_S, "the query to wait")
        query.stop()
        assert not query.isActive
        assert query.exception() is None
    except StreamingQueryException as error:
        raise AssertionError("an interrupt is not a failure") from error
