"""The compacted topic that stores the state of runs: created once, and read at each start."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import ConfigResource, OffsetSpec, ResourceType

from tidemark.producers.access_log.state import RunState, StateRecord
from tidemark.producers.broker import Target, admin, create_topic, partitions_of
from tidemark.producers.errors import SetUpError
from tidemark.producers.partition import partition_of

_CONFIG: Final = {
    "cleanup.policy": "compact",
    # Records not yet compacted are read at each start: up to a gigabyte by default.
    "segment.bytes": str(4 << 20),
    "min.cleanable.dirty.ratio": "0.1",
}
_POLL_S: Final = 0.2
_NO_METADATA_YET: Final = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001 - its name
        KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001 - its name
    }
)
"""Answers of brokers to which a new topic is not known yet."""
_READ: Final = 10_000
_OTHERS_S: Final = 60
"""Upper bound of the wait for a killed run: its transaction time-out plus the broker's check interval, in seconds."""


class StateTopic:
    """A topic for any number of runs; all records of a run are on one partition."""

    def __init__(self, target: Target, topic: str) -> None:
        """Creates the topic if it does not exist. Raises SetUpError if that fails or the topic is not compacted."""
        self.topic = topic
        self._target = replace(target, topic=topic)
        self._timeout_s = target.timeout_ms / 1000
        partitions = partitions_of(self._target)
        if partitions is None:
            create_topic(self._target, 1, _CONFIG)
        else:
            self._check_policy()
        self._partitions = partitions or 1

    def partition(self, name: str) -> int:
        """Returns the partition of the records of run `name`."""
        return partition_of(name.encode(), self._partitions)

    def read(self, name: str) -> RunState:
        """Returns the state of run `name`, empty for a new run. Raises SetUpError if it cannot be read."""
        try:
            return RunState.from_records(name, self._records(self.partition(name)))
        except (KafkaException, TimeoutError) as error:
            cause = error.args[0].str() if isinstance(error, KafkaException) else "the request timed out"
            raise SetUpError(f"{self.topic} cannot be read ({cause}); check the broker") from error
        except (ValueError, KeyError, TypeError) as error:
            raise SetUpError(f"{self.topic} has another record for {name} ({error}); choose another --name") from error

    def _records(self, partition: int) -> Iterator[StateRecord]:
        """Yields all committed records, waiting for open transactions of other runs to end."""
        start = TopicPartition(self.topic, partition, 0)
        end = self._end(start)
        consumer = Consumer(
            {
                **self._target.client_config(),
                "group.id": "access-log",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
            }
        )
        try:
            consumer.assign([start])
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
                    raise SetUpError(f"{self.topic} could not be read to its end in time; raise --timeout")
        finally:
            consumer.close()

    def _end(self, partition: TopicPartition) -> int:
        """Returns the offset after the last record, committed or not."""
        client = admin(self._target)  # held by a name, so that it stays open until the broker answers
        deadline = time.monotonic() + self._timeout_s
        while True:
            futures = client.list_offsets(
                {partition: OffsetSpec.latest()},
                isolation_level=IsolationLevel.READ_UNCOMMITTED,
                request_timeout=self._timeout_s,
            )
            try:
                return int(futures[partition].result(self._timeout_s).offset)
            except KafkaException as error:
                if error.args[0].code() not in _NO_METADATA_YET or time.monotonic() > deadline:
                    raise
                time.sleep(_POLL_S)

    def _check_policy(self) -> None:
        resource = ConfigResource(ResourceType.TOPIC, self.topic)
        client = admin(self._target)
        try:
            config = client.describe_configs([resource], request_timeout=self._timeout_s)[resource].result()
        except KafkaException as error:
            raise SetUpError(
                f"the settings of {self.topic} cannot be read ({error.args[0].str()}); allow DescribeConfigs on it"
            ) from error
        policy = config["cleanup.policy"].value
        if policy != "compact":
            raise SetUpError(
                f"{self.topic} has cleanup.policy={policy}, which would delete the positions of runs; "
                "set it to compact, or name another topic with --state-topic"
            )
