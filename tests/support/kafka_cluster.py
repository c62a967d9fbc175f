"""A Kafka for the tests: in a container where a Docker engine answers, else the demo's embedded broker."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from demo.broker import Broker
from demo.topics import create_topic
from tests.support.brief_java import BRIEF_JVM

# The newest image whose start-up script testcontainers knows how to replace.
IMAGE = "confluentinc/cp-kafka:7.6.0"
ENGINE_S = 3


class Cluster(NamedTuple):
    """A running Kafka, in a container or embedded."""

    bootstrap_servers: str

    def create_topic(self, name: str, partitions: int = 1, **config: object) -> None:
        """Creates a topic and waits for its leaders; `retention_ms=-1` sets `retention.ms`."""
        create_topic(self.bootstrap_servers, name, partitions, **config)


def docker_answers() -> bool:
    """Returns whether a Docker engine answers."""
    import docker  # noqa: PLC0415 - half a second, which every run of a single test would wait for
    from docker.errors import DockerException  # noqa: PLC0415

    try:
        with contextlib.closing(docker.from_env(timeout=ENGINE_S)) as client:
            return bool(client.ping())
    except (DockerException, OSError):
        return False


@contextlib.contextmanager
def any_cluster(data_dir: Path) -> Iterator[Cluster]:
    """Yields the cluster of a test session; TIDEMARK_TEST_BROKER=embedded forbids Docker."""
    if os.environ.get("TIDEMARK_TEST_BROKER") != "embedded" and docker_answers():
        with container_cluster() as cluster:
            yield cluster
    else:
        with Broker(data_dir, options=[BRIEF_JVM]) as broker:
            yield Cluster(broker.bootstrap_servers)


@contextlib.contextmanager
def container_cluster() -> Iterator[Cluster]:
    """Yields Kafka in a container, configured like the embedded broker."""
    from testcontainers.community.kafka import KafkaContainer  # noqa: PLC0415 - as long again

    container = KafkaContainer(IMAGE).with_kraft().with_env("KAFKA_AUTO_CREATE_TOPICS_ENABLE", "false")
    container = container.with_env("KAFKA_LOG_RETENTION_MS", "-1")
    container = container.with_env("KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR", "1")
    with container.with_env("KAFKA_TRANSACTION_STATE_LOG_MIN_ISR", "1") as kafka:
        yield Cluster(kafka.get_bootstrap_server())
