"""Where the service plays a transcript."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support.kafka_cluster import Cluster


@dataclass(frozen=True)
class Place:
    """A broker, a function that creates a topic on it, and the folder of a warehouse."""

    broker: Cluster
    make_topic: Callable[..., str]
    warehouse: Path
