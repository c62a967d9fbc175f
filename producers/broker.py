"""Checks the broker and the topic before anything is sent, and creates the topic."""

from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AclOperation
from confluent_kafka.cimpl import NewTopic

from tidemark.kafka_access.admin import Admin
from tidemark.kafka_access.errors import AccessError, Refused
from tidemark.kafka_access.librdkafka import librdkafka_options
from tidemark.kafka_access.settings import Access
from tidemark.producers.errors import SetUpError

_OPEN = Access()
_NO_TOPIC = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_EXCEPTION)


@dataclass(frozen=True)
class Target:
    """Brokers, topic and credentials; `timeout_ms` bounds the wait for the broker, at the start and per record."""

    bootstrap_servers: str
    topic: str
    timeout_ms: int = 30_000
    access: Access = _OPEN

    def client_config(self) -> dict[str, str | int | float | bool]:
        """Returns the common configuration of all clients. Raises SetUpError if a file of a setting cannot be read."""
        try:
            # 2 logs crashes only: we print one sentence instead of librdkafka's log lines.
            return {"bootstrap.servers": self.bootstrap_servers, "log_level": 2, **librdkafka_options(self.access)}
        except AccessError as error:
            raise SetUpError(str(error)) from error


def partitions_of(target: Target) -> int | None:
    """Returns the number of partitions of the topic, None if it does not exist.

    Raises SetUpError if the broker does not answer in time, or refuses this client or its right to write.
    """
    client = admin(target)
    try:
        return len(client.describe(target.topic, AclOperation.WRITE, target.timeout_ms / 1000).partitions)
    except Refused as error:
        raise SetUpError(error.sentence) from error
    except (KafkaException, TimeoutError) as error:
        if isinstance(error, KafkaException) and error.args[0].code() in _NO_TOPIC:
            return None
        cause = _cause(error) if isinstance(error, KafkaException) else "the request timed out"
        raise SetUpError(
            client.advertised()
            or f"no Kafka broker answered at {target.bootstrap_servers} within "
            f"{target.timeout_ms / 1000:g} s ({cause}); start it, or correct --bootstrap-servers or "
            "--kafka.security.protocol"
        ) from error


def partitions_of_topic(target: Target, wanted: int | None) -> int:
    """Returns the number of partitions of the topic, which is created with `wanted` partitions if it does not exist.

    Raises SetUpError if it does not exist and `wanted` is None, or as `partitions_of` and `create_topic` do.
    """
    partitions = partitions_of(target)
    if partitions is not None:
        return partitions
    if wanted is None:
        raise SetUpError(
            f"there is no topic {target.topic!r} at {target.bootstrap_servers}; correct --topic or add --create-topic"
        )
    create_topic(target, wanted)
    return wanted


def create_topic(target: Target, partitions: int, config: Mapping[str, str] | None = None) -> None:
    """Creates the topic with the broker's default replication. Raises SetUpError if the broker refuses."""
    try:
        topic = NewTopic(target.topic, num_partitions=partitions, config=dict(config or {}))
        client = admin(target)  # held by a name, so that it stays open until the broker answers
        created = client.create_topics([topic], operation_timeout=target.timeout_ms / 1000)
        created[target.topic].result(target.timeout_ms / 1000)
    except KafkaException as error:
        raise SetUpError(
            f"the broker at {target.bootstrap_servers} did not create the topic {target.topic!r} "
            f"({_cause(error)}); correct --topic or --partitions, or create it yourself"
        ) from error


def admin(target: Target) -> Admin:
    """Returns an admin client. Raises SetUpError if the settings are not valid."""
    try:
        return Admin(target.client_config(), target.access)
    except AccessError as error:
        raise SetUpError(str(error)) from error


def _cause(error: KafkaException) -> str:
    return str(error.args[0].str())
