"""All that a topic holds, as a consumer sees it."""

import time
from collections.abc import Iterator

from confluent_kafka import Consumer, Message, TopicPartition

from producers.broker import Target, partitions_of

PATIENCE_S = 60


def consumed(bootstrap_servers: str, topic: str) -> Iterator[Message]:
    """Every record that the topic has now, in order within its partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "recount"})
    count = partitions_of(Target(bootstrap_servers, topic)) or 0
    ends = [consumer.get_watermark_offsets(TopicPartition(topic, p))[1] for p in range(count)]
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(count)])
    deadline = time.monotonic() + PATIENCE_S
    left = sum(ends)
    while left > 0 and time.monotonic() < deadline:
        for message in consumer.consume(5_000, timeout=0.5):
            assert message.error() is None
            left -= 1
            yield message
    consumer.close()
    assert left <= 0  # more may have come meanwhile
