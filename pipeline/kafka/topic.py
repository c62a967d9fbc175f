"""Asks the broker for the partitions of the topic and their offsets."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, assert_never

import structlog
from confluent_kafka import ConsumerGroupTopicPartitions, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AclOperation, ListOffsetsResultInfo, OffsetSpec, TopicDescription

from tidemark.kafka_access.admin import Admin
from tidemark.kafka_access.errors import Refused
from tidemark.pipeline.errors import SetUpError, TransientError, Unreachable
from tidemark.pipeline.kafka.clients import java_client, librdkafka_client
from tidemark.pipeline.runtime.topic_offsets import TopicOffsets
from tidemark.pipeline.settings.durations import milliseconds
from tidemark.pipeline.settings.model import KafkaSettings
from tidemark.pipeline.settings.secrets import raising_set_up_errors
from tidemark.pipeline.settings.start_position import AtTime, Earliest, GroupOffsets, Latest, Offsets, StartPosition

_REQUEST_S: Final = 10.0
_PAUSE_S: Final = 1.0
Requests = dict[TopicPartition, Future[ListOffsetsResultInfo]]
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Identity:
    """The ids of a topic and its cluster, which do not depend on names and addresses."""

    cluster_id: str | None
    topic_id: str | None


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic, by an admin client; every call asks the broker, and raises TransientError without an answer."""

    admin: Admin
    name: str
    patience_s: float = _REQUEST_S
    """How long a call waits for its answer."""

    def earliest(self) -> dict[int, int]:
        """Returns the first retained offset by partition."""
        return self._offsets(OffsetSpec.earliest())

    def log_ends(self) -> dict[int, int]:
        """Returns the offset after the last committed record, by partition."""
        return self._offsets(OffsetSpec.latest())

    def high_watermarks(self) -> dict[int, int]:
        """Returns the offset after the last record, including open transactions, by partition."""
        return self._offsets(OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED)

    def offsets(self) -> TopicOffsets:
        """Returns `earliest`, `log_ends` and `high_watermarks`.

        A log end is below the high watermark only if a transaction is open.
        """
        partitions = sorted(partition.id for partition in self._described().partitions)
        # First: a record that arrives between two answers is otherwise taken for one of an open transaction.
        ends = self._answers(self._ask(partitions, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED))
        earliest, log_ends = self._ask(partitions, OffsetSpec.earliest()), self._ask(partitions, OffsetSpec.latest())
        return TopicOffsets(self._answers(earliest), self._answers(log_ends), ends)

    def newest(self) -> dict[int, int | None]:
        """Returns the highest Kafka timestamp of each partition, in milliseconds; None: it has no record.

        Raises TransientError if the broker does not answer.
        """
        partitions = sorted(partition.id for partition in self._described().partitions)
        asked = self._ask(partitions, OffsetSpec.max_timestamp())
        with _answering(f"the newest records of topic {self.name}"):
            times = {place.partition: answer.result(self.patience_s).timestamp for place, answer in asked.items()}
        return {partition: time if time >= 0 else None for partition, time in times.items()}

    def first_offsets(self, require: Callable[[str], None]) -> dict[int, int]:
        """Returns `earliest` after calling `require` with the topic's id, which may raise."""
        described = self._described()
        require(str(described.topic_id))
        return self._answers(self._ask([partition.id for partition in described.partitions], OffsetSpec.earliest()))

    def ends_of(self, partitions: Iterable[int], require: Callable[[str], None]) -> dict[int, int]:
        """Returns `high_watermarks` of some partitions after calling `require` with the topic's id, which may raise.

        Both requests are sent at once, so that a batch waits once.
        """
        requests = self._ask(partitions, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED)
        require(str(self._described().topic_id))
        return self._answers(requests)

    def identity(self) -> Identity:
        """Returns the ids that cluster and topic got at their creation."""
        with _answering("its cluster"):
            cluster = self.admin.describe_cluster(request_timeout=self.patience_s).result(self.patience_s)
        return Identity(cluster.cluster_id, str(self._described().topic_id))

    def positions(self, start: StartPosition) -> dict[int, int]:
        """Returns by partition the offset of a start position. Raises SetUpError if the topic does not have it."""
        match start:
            case Earliest():
                return self.earliest()
            case Latest():
                return self.log_ends()
            case AtTime(milliseconds):
                offsets, ends = self._offsets(OffsetSpec.for_timestamp(milliseconds)), self.log_ends()
                return {key: ends[key] if offset < 0 else offset for key, offset in offsets.items()}
            case GroupOffsets(group):
                return self._within(self._committed(group), f"group {group}")
            case Offsets(by_partition):
                return self._within(by_partition, "kafka.start")
            case _:
                assert_never(start)

    def _committed(self, group: str) -> dict[int, int]:
        """Returns the offset that a group committed, else the first offset, by partition."""
        earliest = self.earliest()
        request = [ConsumerGroupTopicPartitions(group, [TopicPartition(self.name, key) for key in earliest])]
        with _answering(f"the offsets of group {group}"):
            answer = self.admin.list_consumer_group_offsets(request, request_timeout=self.patience_s)[group]
            committed = {each.partition: each.offset for each in answer.result(self.patience_s).topic_partitions}
        if all(offset < 0 for offset in committed.values()):
            raise SetUpError(
                f"consumer group {group} has committed no offset of topic {self.name}: correct kafka.start"
            )
        return {key: first if committed[key] < 0 else committed[key] for key, first in earliest.items()}

    def _within(self, offsets: Mapping[int, int], source: str) -> dict[int, int]:
        earliest, ends = self.earliest(), self.log_ends()
        if offsets.keys() != earliest.keys():
            raise SetUpError(
                f"{source} names the partitions {sorted(offsets)}, but topic {self.name} has {sorted(earliest)}"
            )
        for partition, offset in offsets.items():
            if not earliest[partition] <= offset <= ends[partition]:
                raise SetUpError(
                    f"{source} has offset {offset} of partition {partition}, but topic {self.name} holds "
                    f"[{earliest[partition]}, {ends[partition]})"
                )
        return dict(offsets)

    def _offsets(self, spec: OffsetSpec, isolation: IsolationLevel = IsolationLevel.READ_COMMITTED) -> dict[int, int]:
        partitions = sorted(partition.id for partition in self._described().partitions)
        return self._answers(self._ask(partitions, spec, isolation))

    def _ask(
        self, partitions: Iterable[int], spec: OffsetSpec, isolation: IsolationLevel = IsolationLevel.READ_COMMITTED
    ) -> Requests:
        specs = {TopicPartition(self.name, partition): spec for partition in partitions}
        with _answering(f"the offsets of topic {self.name}"):
            return self.admin.list_offsets(specs, isolation_level=isolation, request_timeout=self.patience_s)

    def _answers(self, requests: Requests) -> dict[int, int]:
        with _answering(f"the offsets of topic {self.name}"):
            return {key.partition: request.result(self.patience_s).offset for key, request in requests.items()}

    def _described(self) -> TopicDescription:
        # Not list_topics: it creates a missing topic if the broker allows it.
        try:
            return self.admin.describe(self.name, AclOperation.READ, self.patience_s)
        except TimeoutError as error:
            raise TransientError("no broker answers: the request timed out") from error
        except Refused as error:
            raise Unreachable(error.sentence) from error
        except KafkaException as error:
            if error.args[0].code() not in {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_EXCEPTION}:
                raise TransientError(f"no broker answers: {error.args[0].str()}") from error
            raise Unreachable(f"there is no topic {self.name}. Create it, or correct kafka.topic") from error


@contextmanager
def _answering(subject: str) -> Iterator[None]:
    """Raises TransientError if the broker does not answer a request for `subject`."""
    try:
        yield
    except (KafkaException, TimeoutError) as error:
        raise TransientError(f"the broker did not return {subject}: {error}") from error


def connect(kafka: KafkaSettings, wait: Callable[[float], None] = time.sleep) -> Topic:
    """Returns the topic as soon as a broker answers; waits up to `connect_timeout`, by `wait` with seconds.

    Raises Unreachable if no broker answers in time or accepts the client, SetUpError if the topic does not exist or a
    file of the settings cannot be used, and what `wait` raises.
    """
    java_client(kafka)  # reports a mistake before Spark starts
    with raising_set_up_errors():
        topic = Topic(Admin(librdkafka_client(kafka), kafka), kafka.topic)
    left = milliseconds(kafka.connect_timeout) / 1000
    hasty = replace(topic, patience_s=min(_REQUEST_S, left))  # one request must not outlast the timeout
    started = time.monotonic()
    while True:
        try:
            hasty.log_ends()
            return topic
        except TransientError as error:
            if time.monotonic() - started >= left:
                raise Unreachable(
                    topic.admin.advertised()
                    or f"no Kafka broker at {kafka.bootstrap_servers} answered within {left:g} s ({error}). "
                    "Start it, or correct kafka.bootstrap_servers or kafka.security.protocol"
                ) from error
            reason = topic.admin.advertised() or str(error)
            _log.warning("waiting_for_broker", bootstrap_servers=kafka.bootstrap_servers, reason=reason)
            wait(_PAUSE_S)
