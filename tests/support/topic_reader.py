"""All that a topic holds, as a consumer sees it."""

from collections.abc import Iterator

from confluent_kafka import Consumer, Message, TopicPartition

from tests.support.waiting import PATIENCE_S, wait_for
from tidemark.producers.broker import Target, partitions_of


def consumed(bootstrap_servers: str, topic: str) -> Iterator[Message]:
    """Every record that the topic has now, in order within its partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "recount"})
    count = partitions_of(Target(bootstrap_servers, topic)) or 0
    ends = [consumer.get_watermark_offsets(TopicPartition(topic, p))[1] for p in range(count)]
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(count)])
    left = sum(ends)
    while left > 0:  # more may come meanwhile
        for message in wait_for(lambda: consumer.consume(5_000, timeout=0.5), PATIENCE_S, "a record"):
            assert message.error() is None
            left -= 1
            yield message
    consumer.close()
