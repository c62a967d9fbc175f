"""Where a new warehouse begins to read, by `kafka.start`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from structlog.testing import capture_logs

from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.seeds import drawn
from tests.support.services import ANY_TIMESTAMP, settings_of
from tests.support.topic_writer import event, send
from tests.support.warehouse import EPOCH, rows
from tidemark.pipeline.app import open_service
from tidemark.pipeline.errors import SetUpError

pytestmark = pytest.mark.broker

MakeTopic = Callable[..., str]
START = 1_714_564_800_000  # 2024-05-01T12:00:00Z


@pytest.fixture
def topic(broker: Cluster, make_topic: MakeTopic) -> str:
    """Two partitions with five events each, a second apart."""
    name = make_topic(2, **ANY_TIMESTAMP)
    events = [event("ann", START + n * 1000, partition=partition) for n in range(5) for partition in range(2)]
    send(broker.bootstrap_servers, name, events)
    return name


def first_offsets(warehouse: Path) -> dict[int, int]:
    """Where the first epoch begins, per partition."""
    opening = [row for row in rows(warehouse, "ledger") if row["batch"] == EPOCH]
    return {row["partition"]: row["from_offset"] for row in opening}


def commit(broker: Cluster, topic: str, group: str, offsets: dict[int, int]) -> None:
    """Commits as a consumer of the group would."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group})
    places = [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()


@pytest.mark.parametrize(
    ("start", "begins"),
    drawn(
        [
            pytest.param("earliest", {0: 0, 1: 0}),
            pytest.param("latest", {0: 5, 1: 5}),
            pytest.param("timestamp:2024-05-01T12:00:02Z", {0: 2, 1: 2}),
            pytest.param("timestamp:2024-05-01T14:00:01.500+02:00", {0: 2, 1: 2}),
            pytest.param("timestamp:2024-05-01T12:00:00", {0: 0, 1: 0}),
            pytest.param("timestamp:2030-01-01", {0: 5, 1: 5}),
            pytest.param("offsets:" + json.dumps({"0": 1, "1": 4}), {0: 1, 1: 4}),
        ],
        count=2,
    ),
)
def test_a_new_warehouse_starts_at_the_configured_position(
    broker: Cluster, topic: str, tmp_path: Path, start: str, begins: dict[int, int]
) -> None:
    with open_service(settings_of(broker, topic, tmp_path, kafka={"start": start})) as service:
        service.drain()
    assert first_offsets(tmp_path) == begins
    assert assert_conserved(tmp_path).records == 10 - sum(begins.values())


def test_a_consumer_groups_offsets_are_gone_on_from_and_what_it_never_read_is_read(
    broker: Cluster, topic: str, tmp_path: Path
) -> None:
    commit(broker, topic, f"group-{topic}", {0: 3})
    with open_service(settings_of(broker, topic, tmp_path, kafka={"start": f"group:group-{topic}"})) as service:
        service.drain()
    assert first_offsets(tmp_path) == {0: 3, 1: 0}
    assert assert_conserved(tmp_path).records == 7


def test_the_offsets_that_a_service_mirrors_are_a_start_for_another(
    broker: Cluster, topic: str, tmp_path: Path
) -> None:
    mirror = f"mirror-{topic}"
    with open_service(settings_of(broker, topic, tmp_path / "one", kafka={"group_id": mirror})) as service:
        service.drain()
    with open_service(settings_of(broker, topic, tmp_path / "two", kafka={"start": f"group:{mirror}"})) as service:
        service.drain()
    assert first_offsets(tmp_path / "two") == {0: 5, 1: 5}


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        ("group:nobody", "group nobody has committed no offset of topic"),
        ('offsets:{"0": 1}', r"names the partitions \[0\], but topic .* has \[0, 1\]"),
        ('offsets:{"0": 1, "1": 99}', r"offset 99 of partition 1, but topic .* holds \[0, 5\)"),
    ],
)
def test_a_start_that_the_topic_does_not_have_is_refused(
    broker: Cluster, topic: str, tmp_path: Path, start: str, sentence: str
) -> None:
    settings = settings_of(broker, topic, tmp_path, kafka={"start": start})
    with pytest.raises(SetUpError, match=sentence), open_service(settings):
        pass


def test_an_existing_warehouse_goes_on_from_its_ledger_and_says_that_the_start_is_ignored(
    broker: Cluster, topic: str, tmp_path: Path
) -> None:
    with open_service(settings_of(broker, topic, tmp_path)) as service:
        service.drain()
    send(broker.bootstrap_servers, topic, [event("bob", START + 9000)])
    settings = settings_of(broker, topic, tmp_path, kafka={"start": "latest"})
    with capture_logs() as said, open_service(settings) as service:
        service.drain()
    assert assert_conserved(tmp_path).records == 11
    remarks = [entry["reason"] for entry in said if entry["event"] == "start_warning"]
    assert remarks == ["kafka.start = latest is for a new warehouse: this warehouse continues from its ledger"]
