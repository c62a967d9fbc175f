"""The broker and the topic before anything is sent: reach them, or say what to do."""

from dataclasses import dataclass

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from producers.errors import SetupError

# librdkafka's own log lines would stand beside our one sentence; only a crash may speak.
QUIET = {"log_level": 2}


@dataclass(frozen=True)
class Target:
    """Where to send; `timeout_ms` bounds the wait for the broker, at the start and per record."""

    bootstrap_servers: str
    topic: str
    timeout_ms: int = 30_000


def partitions_of(target: Target) -> int | None:
    """How many partitions the topic has, None if there is no such topic.

    Raises SetupError if the broker does not answer in time.
    """
    try:
        topics = _admin(target).list_topics(timeout=target.timeout_ms / 1000).topics
    except KafkaException as error:
        raise SetupError(
            f"no Kafka broker answered at {target.bootstrap_servers} within "
            f"{target.timeout_ms / 1000:g} s ({_cause(error)}); start it or correct --bootstrap-servers"
        ) from error
    return len(topics[target.topic].partitions) if target.topic in topics else None


def create_topic(target: Target, partitions: int) -> None:
    """Create the topic with the broker's default replication; SetupError if it refuses."""
    try:
        topic = NewTopic(target.topic, num_partitions=partitions)
        admin = _admin(target)  # a name, lest it be closed before the broker answers
        created = admin.create_topics([topic], operation_timeout=target.timeout_ms / 1000)
        created[target.topic].result(target.timeout_ms / 1000)
    except KafkaException as error:
        raise SetupError(
            f"the broker at {target.bootstrap_servers} did not create the topic {target.topic!r} "
            f"({_cause(error)}); correct --topic or --partitions, or create it yourself"
        ) from error


def _admin(target: Target) -> AdminClient:
    return AdminClient({"bootstrap.servers": target.bootstrap_servers, **QUIET})


def _cause(error: KafkaException) -> str:
    return str(error.args[0].str())
