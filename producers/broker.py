"""The broker and the topic before anything is sent: reach them, or say what to do."""

from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AclOperation
from confluent_kafka.cimpl import NewTopic

from kafka_access.admin import Admin
from kafka_access.errors import AccessError, Refused
from kafka_access.librdkafka import librdkafka_options
from kafka_access.settings import Access
from producers.errors import SetupError

_OPEN = Access()
_NO_TOPIC = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_EXCEPTION)


@dataclass(frozen=True)
class Target:
    """Where to send; `timeout_ms` bounds the wait for the broker, at the start and per record."""

    bootstrap_servers: str
    topic: str
    timeout_ms: int = 30_000
    access: Access = _OPEN

    def client(self) -> dict[str, str | int | float | bool]:
        """What each client is told. Raises SetupError if a file of the settings cannot be read."""
        try:
            # librdkafka's own log lines would stand beside our one sentence; only a crash may speak.
            return {"bootstrap.servers": self.bootstrap_servers, "log_level": 2, **librdkafka_options(self.access)}
        except AccessError as error:
            raise SetupError(str(error)) from error


def partitions_of(target: Target) -> int | None:
    """How many partitions the topic has, None if there is no such topic.

    Raises SetupError if the broker does not answer in time, or does not let this client write to the topic.
    """
    try:
        return len(admin(target).describe(target.topic, AclOperation.WRITE, target.timeout_ms / 1000).partitions)
    except Refused as error:
        raise SetupError(error.sentence) from error
    except (KafkaException, TimeoutError) as error:
        if isinstance(error, KafkaException) and error.args[0].code() in _NO_TOPIC:
            return None
        cause = _cause(error) if isinstance(error, KafkaException) else "the request timed out"
        raise SetupError(
            f"no Kafka broker answered at {target.bootstrap_servers} within "
            f"{target.timeout_ms / 1000:g} s ({cause}); start it, or correct --bootstrap-servers or "
            "--kafka.security.protocol"
        ) from error


def partitions_of_topic(target: Target, wanted: int | None) -> int:
    """How many partitions the topic has; where there is none, it is created with so many as are wanted.

    Raises SetupError if there is none and none is wanted, or as `partitions_of` and `create_topic` do.
    """
    found = partitions_of(target)
    if found is not None:
        return found
    if wanted is None:
        raise SetupError(
            f"there is no topic {target.topic!r} at {target.bootstrap_servers}; correct --topic or add --create-topic"
        )
    create_topic(target, wanted)
    return wanted


def create_topic(target: Target, partitions: int, config: Mapping[str, str] | None = None) -> None:
    """Create the topic with the broker's default replication; SetupError if it refuses."""
    try:
        topic = NewTopic(target.topic, num_partitions=partitions, config=dict(config or {}))
        client = admin(target)  # a name, lest it be closed before the broker answers
        created = client.create_topics([topic], operation_timeout=target.timeout_ms / 1000)
        created[target.topic].result(target.timeout_ms / 1000)
    except KafkaException as error:
        raise SetupError(
            f"the broker at {target.bootstrap_servers} did not create the topic {target.topic!r} "
            f"({_cause(error)}); correct --topic or --partitions, or create it yourself"
        ) from error


def admin(target: Target) -> Admin:
    """A client for questions. Raises SetupError if none can be made of the settings."""
    try:
        return Admin(target.client(), target.access)
    except AccessError as error:
        raise SetupError(str(error)) from error


def _cause(error: KafkaException) -> str:
    return str(error.args[0].str())
