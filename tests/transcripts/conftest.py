"""Tests of this folder may request a place at which the service plays a transcript."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.kafka_cluster import Cluster
from tests.transcripts.place import Place


@pytest.fixture
def place(broker: Cluster, make_topic: Callable[..., str], tmp_path: Path) -> Place:
    """A broker, topics, and a warehouse of its own."""
    return Place(broker, make_topic, tmp_path)
