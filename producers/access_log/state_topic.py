"""The compacted topic that keeps what runs need to go on: made once, and read at each start."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import ConfigResource, OffsetSpec, ResourceType

from producers.access_log.state import Kept, Record
from producers.broker import Target, admin, create_topic, partitions_of
from producers.errors import SetupError
from producers.partition import partition_of

_CONFIG: Final = {
    "cleanup.policy": "compact",
    # What is not compacted yet is read at each start; by default that would be up to a gigabyte.
    "segment.bytes": str(4 << 20),
    "min.cleanable.dirty.ratio": "0.1",
}
_POLL_S: Final = 0.2
_READ: Final = 10_000
_OTHERS_S: Final = 60
"""A run that was killed holds others up until its transaction has timed out, which a broker looks for now and then."""


class StateTopic:
    """A topic for any number of runs; the records of a run are on one partition."""

    def __init__(self, target: Target, topic: str) -> None:
        """Creates the topic if there is none. Raises SetupError if that is refused, or if it is not compacted."""
        self.topic = topic
        self._target = replace(target, topic=topic)
        self._timeout_s = target.timeout_ms / 1000
        found = partitions_of(self._target)
        if found is None:
            create_topic(self._target, 1, _CONFIG)
        else:
            self._check_policy()
        self._is_new = found is None
        self._partitions = found or 1

    def partition(self, name: str) -> int:
        """The partition of a run's records."""
        return partition_of(name.encode(), self._partitions)

    def read(self, name: str) -> Kept:
        """What is kept of a run. Raises SetupError if it cannot be read."""
        if self._is_new:  # brokers may not know it yet
            return Kept()
        try:
            return Kept.of(name, self._records(self.partition(name)))
        except (KafkaException, TimeoutError) as error:
            cause = error.args[0].str() if isinstance(error, KafkaException) else "the request timed out"
            raise SetupError(f"{self.topic} cannot be read ({cause}); see to the broker") from error
        except (ValueError, KeyError, TypeError) as error:
            raise SetupError(f"{self.topic} has something else under {name} ({error}); take another --name") from error

    def _records(self, partition: int) -> Iterator[Record]:
        """All committed records, waiting for other runs to end the transactions that stand before the last of them."""
        place = TopicPartition(self.topic, partition, 0)
        end = self._end(place)
        consumer = Consumer(
            {
                **self._target.client(),
                "group.id": "access-log",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
            }
        )
        try:
            consumer.assign([place])
            deadline = time.monotonic() + self._timeout_s + _OTHERS_S
            position = 0
            while position < end:
                for message in consumer.consume(_READ, timeout=_POLL_S):
                    error, offset = message.error(), message.offset()
                    if error is None:
                        yield message.key() or b"", message.value()
                    elif error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name
                        raise KafkaException(error)
                    position = (offset or 0) + (error is None)
                if position < end and time.monotonic() > deadline:
                    raise SetupError(f"{self.topic} could not be read to its end in time; raise --timeout")
        finally:
            consumer.close()

    def _end(self, place: TopicPartition) -> int:
        """The offset behind the last record, committed or not."""
        client = admin(self._target)  # a name, lest it be closed before the broker answers
        asked = client.list_offsets(
            {place: OffsetSpec.latest()},
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
            request_timeout=self._timeout_s,
        )
        return int(asked[place].result(self._timeout_s).offset)

    def _check_policy(self) -> None:
        resource = ConfigResource(ResourceType.TOPIC, self.topic)
        client = admin(self._target)
        try:
            found = client.describe_configs([resource], request_timeout=self._timeout_s)[resource].result()
        except KafkaException as error:
            raise SetupError(
                f"the settings of {self.topic} cannot be read ({error.args[0].str()}); allow DescribeConfigs on it"
            ) from error
        policy = found["cleanup.policy"].value
        if policy != "compact":
            raise SetupError(
                f"{self.topic} has cleanup.policy={policy}, which would delete where runs stand; "
                "set it to compact, or name another topic with --state-topic"
            )
