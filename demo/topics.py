"""Creates topics on any broker, and checks that a broker answers."""

import time

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from tidemark.pipeline.errors import SetUpError

DEADLINE_S = 300.0
PAUSE_S = 0.02


def admin(bootstrap_servers: str) -> AdminClient:
    """Returns a client that does not log refused connections, which are expected while a broker starts."""
    return AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0, "reconnect.backoff.max.ms": 200})


def answers(client: AdminClient, timeout_s: float = 1.0) -> bool:
    """Returns whether a broker returns metadata within `timeout_s` seconds."""
    try:
        return bool(client.list_topics(timeout=timeout_s).brokers)
    except KafkaException:
        return False


def create_topic(bootstrap_servers: str, name: str, partitions: int = 1, **config: object) -> None:
    """Creates a topic and waits until each partition has a leader; `retention_ms=-1` sets `retention.ms`.

    Raises SetUpError if the broker refuses or is not done in time.
    """
    client = admin(bootstrap_servers)
    settings = {key.replace("_", "."): str(value) for key, value in config.items()}
    topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=settings)
    try:
        client.create_topics([topic])[name].result(DEADLINE_S)
    except (KafkaException, TimeoutError) as cause:
        raise SetUpError(f"Topic {name} cannot be created on {bootstrap_servers}: {_reason(cause)}") from cause
    # The controller answers first; the broker gets the topic a moment later.
    deadline = time.monotonic() + DEADLINE_S
    while _led(client, name) < partitions:
        if time.monotonic() > deadline:
            raise SetUpError(f"Topic {name} on {bootstrap_servers} has no leaders after {DEADLINE_S:.0f} s.")
        time.sleep(PAUSE_S)


def _led(client: AdminClient, name: str) -> int:
    partitions = client.list_topics(name, timeout=DEADLINE_S).topics[name].partitions
    return sum(partition.leader >= 0 for partition in partitions.values())


def _reason(cause: Exception) -> str:
    return str(cause.args[0].str()) if isinstance(cause, KafkaException) else f"no answer in {DEADLINE_S:.0f} s"
