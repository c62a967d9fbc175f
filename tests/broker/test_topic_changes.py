"""A topic that is recreated, or loses records of a new partition, while a service is at work."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from demo.topics import admin
from tests.broker.test_reading_on import widen
from tests.crash.test_mistaken_starts import PATIENCE_S, RULES, START, make_anew
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.services import ANY_TIMESTAMP, Clock, settings_of
from tests.support.topic_writer import event, send
from tests.support.warehouse import batches, latest_batch
from tidemark.pipeline.app import open_service
from tidemark.pipeline.errors import SetUpError, TransientError
from tidemark.pipeline.kafka.ranges import TopicRanges
from tidemark.pipeline.service.runner import RunningService
from tidemark.pipeline.settings.model import Settings

pytestmark = pytest.mark.broker

MakeTopic = Callable[..., str]
RECREATED = r"topic .* was deleted and recreated since the warehouse"


@pytest.fixture
def topic(broker: Cluster, make_topic: MakeTopic) -> str:
    """One partition with four events."""
    name = make_topic(1, **ANY_TIMESTAMP)
    fill(broker, name)
    return name


def fill(broker: Cluster, topic: str, partition: int = 0) -> None:
    send(broker.bootstrap_servers, topic, [event("ann", START + n * 1000, partition=partition) for n in range(4)])


def recreate(broker: Cluster, topic: str) -> None:
    """With as many events, so that the offsets alone do not show it."""
    make_anew(broker, topic)
    fill(broker, topic)


@pytest.mark.parametrize("act", [RunningService.drain, RunningService.tick])
def test_a_topic_that_is_recreated_between_two_drains_or_ticks_is_not_read(
    broker: Cluster, topic: str, tmp_path: Path, act: Callable[[RunningService], None]
) -> None:
    with open_service(settings_of(broker, topic, tmp_path, **RULES), now=Clock()) as service:
        service.drain()
        before = latest_batch(tmp_path)
        recreate(broker, topic)
        fill(broker, topic)
        with pytest.raises(SetUpError, match=RECREATED):
            act(service)
    assert latest_batch(tmp_path) == before


def test_a_topic_that_is_recreated_between_two_batches_is_not_read_on(
    broker: Cluster, topic: str, tmp_path: Path
) -> None:
    settings = settings_of(broker, topic, tmp_path, batch={"max_records": 2}, **RULES)
    with open_service(settings, now=Clock()) as service:
        before_second_batch(service, lambda: recreate(broker, topic))
        # By chance Kafka's client notices first that the topic is another one; the next start then says which.
        with pytest.raises((SetUpError, TransientError)) as raised:
            service.drain()
    assert len(batches(tmp_path)) == 1
    with pytest.raises(SetUpError, match=RECREATED) as of_start, open_service(settings, now=Clock()):
        pass
    if isinstance(raised.value, SetUpError):
        assert str(raised.value) == str(of_start.value)


def before_second_batch(service: RunningService, act: Callable[[], None]) -> None:
    """Has something done after the second batch is planned and before it is read."""
    take, taken = service._stream.on_batch, list[Mapping[int, int]]()  # there is no other place between two batches

    def taking(records: TopicRanges) -> None:
        taken.append(records.ends)
        if len(taken) == 2:
            act()
        take(records)

    service._stream.on_batch = taking


def without_first(broker: Cluster, topic: str, partition: int, offset: int) -> None:
    """Removes the records before an offset, as retention does."""
    gone, client = TopicPartition(topic, partition, offset), admin(broker.bootstrap_servers)
    client.delete_records([gone])[gone].result(PATIENCE_S)


def widened(broker: Cluster, topic: str) -> None:
    """A second partition, of whose four events the first three are gone."""
    widen(broker, topic, partitions=2)
    fill(broker, topic, partition=1)
    without_first(broker, topic, 1, 3)


def assert_loss_is_reported(settings: Callable[..., Settings], warehouse: Path) -> None:
    """A start refuses the loss, or records it where the settings say so."""
    with (
        pytest.raises(SetUpError, match=r"offset 0 of partition 1, but the topic holds \[3, 4\)"),
        open_service(settings(), now=Clock()),
    ):
        pass
    with open_service(settings(kafka={"on_data_loss": "record"}), now=Clock()) as service:
        opening = {row["partition"]: row for row in latest_batch(warehouse)}[1]
        assert (opening["from_offset"], opening["to_offset"], opening["lost"]) == (0, 3, 3)
        service.drain()
    assert assert_conserved(warehouse).counted == 5


@pytest.mark.parametrize("is_at_work", [False, True])
def test_what_a_new_partition_lost_before_it_was_read_is_a_loss(
    broker: Cluster, topic: str, tmp_path: Path, *, is_at_work: bool
) -> None:
    def settings(**more: Any) -> Settings:
        return settings_of(broker, topic, tmp_path, **RULES, **more)

    with open_service(settings(), now=Clock()) as service:
        service.drain()
        if is_at_work:
            widened(broker, topic)
            with pytest.raises(TransientError, match=r"partition 1 .* begins at offset 3"):
                service.drain()
    if not is_at_work:
        widened(broker, topic)
    assert_loss_is_reported(settings, tmp_path)


def test_a_new_warehouse_begins_where_kafka_start_says(broker: Cluster, topic: str, tmp_path: Path) -> None:
    without_first(broker, topic, 0, 3)
    with open_service(settings_of(broker, topic, tmp_path, **RULES), now=Clock()) as service:
        service.drain()
    assert assert_conserved(tmp_path).counted == 1
