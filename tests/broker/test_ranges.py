"""The source of columns: every codec, gaps, large and empty records; a range that never ends fails in a sentence."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from confluent_kafka import Producer
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.kafka_cluster import Cluster
from tests.support.services import ANY_TIMESTAMP
from tidemark.pipeline.decoding.decode import reader
from tidemark.pipeline.kafka.broker_errors import is_of_broker
from tidemark.pipeline.kafka.ranges import TopicRanges
from tidemark.pipeline.runtime.connector import SOURCE
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.runtime.spark_errors import cause_in
from tidemark.pipeline.settings.model import KafkaSettings, SparkSettings
from tidemark.schemas import load_schemas
from tidemark.schemas.fields import EventSchemas

pytestmark = pytest.mark.broker

MakeTopic = Callable[..., str]
Record = tuple[int, int, bytes | None, bytes | None, int]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LARGE = 3_000_000
PATIENCE_S = 600


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return spark_session(SparkSettings(conf=BRIEF_DRIVER))


@pytest.fixture(scope="module")
def events() -> str:
    return reader(EventSchemas(load_schemas())).plan


def sent(broker: Cluster, topic: str, partition: int, **options: Any) -> list[Record]:
    """Sends CONTENTS to a partition; returns them with offset 0."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "message.max.bytes": 2 * LARGE, **options})
    records = [(partition, 0, key, value, 1000 + number) for number, (key, value) in enumerate(CONTENTS)]
    for _, _, key, value, time_ms in records:
        producer.produce(topic, value, key, partition, timestamp=time_ms)
    assert producer.flush(PATIENCE_S) == 0
    return records


CONTENTS = (
    *((str(number).encode(), b"value %d" % number) for number in range(300)),
    (None, b"no key"),
    (b"tombstone", None),
    (b"", b""),
    (None, None),
)


def read(ranges: TopicRanges, events: str) -> list[Record]:
    rows = ranges.read(events).select("partition", "offset", "key", "value", "kafka_timestamp").collect()
    return sorted((row[0], row[1], bytes_of(row[2]), bytes_of(row[3]), row[4]) for row in rows)


def bytes_of(value: bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)


def ranges_of(
    spark: SparkSession, broker: Cluster, topic: str, starts: Mapping[int, int], ends: Mapping[int, int]
) -> TopicRanges:
    kafka = KafkaSettings(bootstrap_servers=broker.bootstrap_servers, topic=topic)
    return TopicRanges(spark, kafka, starts, ends)


def test_every_codec_is_read_in_ranges_of_any_size(
    spark: SparkSession, broker: Cluster, make_topic: MakeTopic, events: str
) -> None:
    topic = make_topic(len(CODECS), **ANY_TIMESTAMP)
    expected = [
        (number, offset, key, value, time_ms)
        for number, codec in enumerate(CODECS)
        for offset, (_, _, key, value, time_ms) in enumerate(sent(broker, topic, number, **{"compression.type": codec}))
    ]
    starts = dict.fromkeys(range(len(CODECS)), 0)
    for end in (1, 7, 7, 150, len(CONTENTS)):  # what was fetched beyond a range is kept for the next one
        ends = {partition: end if partition != 1 else len(CONTENTS) for partition in starts}
        records = [record for record in expected if starts[record[0]] <= record[1] < ends[record[0]]]
        assert read(ranges_of(spark, broker, topic, starts, ends), events) == records
        starts = ends
    assert read(ranges_of(spark, broker, topic, {0: 299}, {0: 303}), events) == expected[299:303]  # read before


def test_a_large_record_is_read_whole(spark: SparkSession, broker: Cluster, make_topic: MakeTopic, events: str) -> None:
    topic = make_topic(1, **{"max.message.bytes": str(2 * LARGE)}, **ANY_TIMESTAMP)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "message.max.bytes": 2 * LARGE})
    for number in range(3):
        producer.produce(topic, bytes([number]) * LARGE, partition=0)
    assert producer.flush(PATIENCE_S) == 0
    found = read(ranges_of(spark, broker, topic, {}, {0: 3}), events)
    assert [record[3] for record in found] == [bytes([number]) * LARGE for number in range(3)]


def test_a_range_that_never_ends_fails_in_a_sentence(
    spark: SparkSession, broker: Cluster, make_topic: MakeTopic, events: str
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    options = {
        "kafka.bootstrap.servers": broker.bootstrap_servers,
        "topic": topic,
        "ranges": "0:0:1",
        "plan": events,
        "poll.timeout.ms": "500",
    }
    rows = spark.read.format(SOURCE).options(**options).load()
    with pytest.raises(
        (Py4JJavaError, PySparkException), match=r"within 500 ms no record of .*-0 came at offset 0"
    ) as raised:
        rows.count()
    assert is_of_broker(raised.value)  # so the service starts again
    assert cause_in(str(raised.value)).startswith("org.apache.kafka.common.errors.TimeoutException: within 500 ms no")
