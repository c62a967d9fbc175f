"""The topic as the broker tells of it: its partitions and how far each goes."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace

import structlog
from confluent_kafka import ConsumerGroupTopicPartitions, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AclOperation, ListOffsetsResultInfo, OffsetSpec, TopicDescription

from kafka_access.admin import Admin
from kafka_access.errors import Refused
from pipeline.errors import SetUpError, TransientError, Unreachable
from pipeline.kafka.clients import java_client, librdkafka_client
from pipeline.settings.durations import milliseconds
from pipeline.settings.model import KafkaSettings
from pipeline.settings.secrets import raising_set_up_errors
from pipeline.settings.start_position import At, Committed, Earliest, Latest, Offsets, StartPosition

_REQUEST_SECONDS = 10.0
_PAUSE_SECONDS = 1.0
Asked = dict[TopicPartition, Future[ListOffsetsResultInfo]]
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Identity:
    """By which a topic is known, whatever its name and the cluster's address."""

    cluster_id: str | None
    topic_id: str | None


@dataclass(frozen=True, slots=True)
class Topic:
    """The topic as seen through an admin client; every call asks the broker."""

    admin: Admin
    name: str
    patience_s: float = _REQUEST_SECONDS
    """How long a call waits for its answer."""

    def earliest(self) -> dict[int, int]:
        """The first offset still kept, per partition. Raises TransientError if the broker does not answer."""
        return self._offsets(OffsetSpec.earliest())

    def log_ends(self) -> dict[int, int]:
        """The offset after the last committed record, per partition. Raises TransientError."""
        return self._offsets(OffsetSpec.latest())

    def high_watermarks(self) -> dict[int, int]:
        """The offset after the last record, of an open transaction too, per partition. Raises TransientError."""
        return self._offsets(OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED)

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
        """Like `earliest`, but first `require` gets the topic's id and may refuse it."""
        described = self._described()
        require(str(described.topic_id))
        return self._answers(self._ask([partition.id for partition in described.partitions], OffsetSpec.earliest()))

    def ends_of(self, partitions: Iterable[int], require: Callable[[str], None]) -> dict[int, int]:
        """Like `high_watermarks`, of some partitions, but first `require` gets the topic's id and may refuse it.

        Both are asked at once, so that a batch waits for one answer and not for two.
        """
        asked = self._ask(partitions, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED)
        require(str(self._described().topic_id))
        return self._answers(asked)

    def identity(self) -> Identity:
        """The ids that cluster and topic were given when they were made. Raises TransientError."""
        with _answering("its cluster"):
            cluster = self.admin.describe_cluster(request_timeout=self.patience_s).result(self.patience_s)
        return Identity(cluster.cluster_id, str(self._described().topic_id))

    def positions(self, begin: StartPosition) -> dict[int, int]:
        """The offset at which to begin, per partition.

        Raises SetUpError where it names an offset that the topic does not have, TransientError without an answer.
        """
        match begin:
            case Earliest():
                return self.earliest()
            case Latest():
                return self.log_ends()
            case At(milliseconds):
                found, ends = self._offsets(OffsetSpec.for_timestamp(milliseconds)), self.log_ends()
                return {number: ends[number] if offset < 0 else offset for number, offset in found.items()}
            case Committed(group):
                return self._within(self._committed(group), f"group {group}")
            case Offsets(by_partition):
                return self._within(by_partition, "kafka.start")

    def _committed(self, group: str) -> dict[int, int]:
        """Of a partition that the group never committed, the first offset: nothing is passed over."""
        earliest = self.earliest()
        asked = [ConsumerGroupTopicPartitions(group, [TopicPartition(self.name, number) for number in earliest])]
        with _answering(f"the offsets of group {group}"):
            answer = self.admin.list_consumer_group_offsets(asked, request_timeout=self.patience_s)[group]
            found = {tp.partition: tp.offset for tp in answer.result(self.patience_s).topic_partitions}
        if all(offset < 0 for offset in found.values()):
            raise SetUpError(
                f"consumer group {group} has committed no offset of topic {self.name}: correct kafka.start"
            )
        return {number: first if found[number] < 0 else found[number] for number, first in earliest.items()}

    def _within(self, offsets: Mapping[int, int], source: str) -> dict[int, int]:
        earliest, ends = self.earliest(), self.log_ends()
        if offsets.keys() != earliest.keys():
            raise SetUpError(
                f"{source} names the partitions {sorted(offsets)}, but topic {self.name} has {sorted(earliest)}"
            )
        for number, offset in offsets.items():
            if not earliest[number] <= offset <= ends[number]:
                raise SetUpError(
                    f"{source} says offset {offset} of partition {number}, but topic {self.name} holds "
                    f"[{earliest[number]}, {ends[number]})"
                )
        return dict(offsets)

    def _offsets(self, spec: OffsetSpec, isolation: IsolationLevel = IsolationLevel.READ_COMMITTED) -> dict[int, int]:
        numbers = sorted(partition.id for partition in self._described().partitions)
        return self._answers(self._ask(numbers, spec, isolation))

    def _ask(
        self, partitions: Iterable[int], spec: OffsetSpec, isolation: IsolationLevel = IsolationLevel.READ_COMMITTED
    ) -> Asked:
        places = {TopicPartition(self.name, number): spec for number in partitions}
        with _answering(f"the offsets of topic {self.name}"):
            return self.admin.list_offsets(places, isolation_level=isolation, request_timeout=self.patience_s)

    def _answers(self, asked: Asked) -> dict[int, int]:
        with _answering(f"the offsets of topic {self.name}"):
            return {place.partition: answer.result(self.patience_s).offset for place, answer in asked.items()}

    def _described(self) -> TopicDescription:
        # describe and not list_topics: the latter creates a missing topic where the broker allows it.
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
def _answering(what: str) -> Iterator[None]:
    """Raises TransientError where the broker does not answer a question for `what`."""
    try:
        yield
    except (KafkaException, TimeoutError) as error:
        raise TransientError(f"the broker did not tell {what}: {error}") from error


def connect(kafka: KafkaSettings, wait: Callable[[float], None] = time.sleep) -> Topic:
    """The topic, once a broker answers; waits for one up to `connect_timeout`.

    Raises Unreachable if none answers in time or lets the client in, SetUpError if the topic does not exist or a file
    of the settings is not as it must be, and what `wait` raises.
    """
    java_client(kafka)  # a mistake in its part is told before Spark starts
    with raising_set_up_errors():
        topic = Topic(Admin(librdkafka_client(kafka), kafka), kafka.topic)
    left = milliseconds(kafka.connect_timeout) / 1000
    hasty = replace(topic, patience_s=min(_REQUEST_SECONDS, left))  # one request must not outlast the timeout
    began = time.monotonic()
    while True:
        try:
            hasty.log_ends()
            return topic
        except TransientError as error:
            if time.monotonic() - began >= left:
                raise Unreachable(
                    f"no Kafka broker at {kafka.bootstrap_servers} answered within {left:g} s ({error}). "
                    "Start it, or correct kafka.bootstrap_servers or kafka.security.protocol"
                ) from error
            _log.warning("waiting_for_broker", bootstrap_servers=kafka.bootstrap_servers, reason=str(error))
            wait(_PAUSE_SECONDS)
