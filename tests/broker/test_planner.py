"""Which ranges of the topic each batch reads, as the connector's stream plans them."""

from collections.abc import Callable, Mapping

import pytest

from tests.broker.test_reading_on import widen
from tests.broker.test_transactions import transaction, transactional
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.kafka_cluster import Cluster
from tests.support.topic_writer import event, send
from tidemark.pipeline.errors import TransientError
from tidemark.pipeline.kafka.ranges import TopicRanges
from tidemark.pipeline.kafka.stream import Stream
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import BatchSettings, KafkaSettings, SparkSettings

pytestmark = pytest.mark.broker

MakeTopic = Callable[..., str]
Plan = tuple[Mapping[int, int], Mapping[int, int]]


def fill(broker: Cluster, topic: str, *counts: int) -> None:
    """Sends as many events to each partition as `counts` has for it, in the order of partitions."""
    records = (event("ann", n, partition=number) for number, count in enumerate(counts) for n in range(count))
    send(broker.bootstrap_servers, topic, [*records])


def planned(
    broker: Cluster,
    topic: str,
    positions: Mapping[int, int],
    most: int,
    after: Callable[[int], None] = lambda _: None,
) -> list[Plan]:
    """Returns starts and ends of each batch of a query that reads to the end; calls `after` with their number."""
    seen = list[Plan]()

    def on_batch(ranges: TopicRanges) -> None:
        seen.append((dict(ranges.starts), dict(ranges.ends)))
        after(len(seen))

    kafka = KafkaSettings(bootstrap_servers=broker.bootstrap_servers, topic=topic)
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    Stream(spark, kafka, BatchSettings(max_records=most), on_batch).drain(positions)
    return seen


def test_a_batch_has_its_share_of_each_partition_and_none_starves(broker: Cluster, make_topic: MakeTopic) -> None:
    topic = make_topic(4)
    fill(broker, topic, 900, 90, 1)
    first, *others = planned(broker, topic, dict.fromkeys(range(4), 0), 100)
    assert first == (dict.fromkeys(range(4), 0), {0: 90, 1: 9, 2: 1, 3: 0})
    for (_, ends), (starts, _) in zip([first, *others], others, strict=False):
        assert starts == ends
    assert all(sum(ends.values()) - sum(starts.values()) <= 103 for starts, ends in [first, *others])
    assert others[-1][1] == {0: 900, 1: 90, 2: 1, 3: 0}


def test_a_query_to_the_end_reads_nothing_that_came_after_its_beginning(broker: Cluster, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    fill(broker, topic, 4)
    plans = planned(broker, topic, {0: 1}, 2, lambda _: fill(broker, topic, 5))
    assert [ends for _, ends in plans] == [{0: 3}, {0: 4}]


def test_a_new_partition_is_read_from_its_start(broker: Cluster, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    widen(broker, topic, partitions=2)
    fill(broker, topic, 3, 2)
    assert planned(broker, topic, {0: 1}, 100) == [({0: 1, 1: 0}, {0: 3, 1: 2})]


def test_a_batch_ends_before_an_open_transaction(broker: Cluster, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    fill(broker, topic, 3)
    producer = transactional(broker, topic)
    transaction(producer, topic, [event("bob", 1)])
    assert planned(broker, topic, {0: 0}, 100) == [({0: 0}, {0: 3})]
    producer.abort_transaction(30)


@pytest.mark.parametrize(
    ("positions", "reason"),
    [({0: 7}, "was read to offset 7, but ends at 3"), ({0: 3, 1: 5}, "partition 1 of topic .* but is gone")],
)
def test_a_topic_that_is_shorter_than_what_was_read_is_not_read(
    broker: Cluster, make_topic: MakeTopic, positions: Mapping[int, int], reason: str
) -> None:
    topic = make_topic(1)
    fill(broker, topic, 3)
    with pytest.raises(TransientError, match=reason):
        planned(broker, topic, positions, 100)
