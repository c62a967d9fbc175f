"""A start that finds a mistake has changed nothing; and a topic that is another one is noticed."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from deltalake import DeltaTable

from demo.broker import Broker
from demo.topics import admin
from tests.support.brief_java import BRIEF_JVM
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.services import ANY_TIMESTAMP, Clock, settings_of
from tests.support.topic_writer import event, send
from tests.support.waiting import wait_for
from tests.support.warehouse import batches, latest_batch, rows
from tidemark.pipeline.app import open_service
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.service.runner import RunningService

pytestmark = pytest.mark.broker

MakeTopic = Callable[..., str]
START = 1_000_000
PATIENCE_S = 600
TIME = {"bound": "0s", "allowed_lateness": "0s", "idle_timeout": "1h"}
RULES: dict[str, Any] = {"time": TIME, "window": {"size": "10s"}}
ONLY_PAGES = {"page_traffic": {"keys": ["page_url"]}}


def take(service: RunningService, broker: Cluster, topic: str, second: int) -> None:
    send(broker.bootstrap_servers, topic, [event("ann", START + second * 1000)])
    service.drain()


def versions(warehouse: Path) -> dict[str, int]:
    """The version of every table."""
    return {path.name: DeltaTable(str(path)).version() for path in warehouse.iterdir()}


@pytest.mark.parametrize("mistake", ["a taken port", "another topic", "no broker"])
def test_a_mistaken_start_harms_no_service_that_runs_well(
    mistake: str, broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        open_service(settings_of(broker, topic, tmp_path, **RULES), now=Clock()) as service,
    ):
        take(service, broker, topic, 1)
        before = versions(tmp_path)
        port: int = taken.getsockname()[1]
        mistakes: dict[str, dict[str, Any]] = {
            "a taken port": {"metrics": {"port": port}},
            "another topic": {"kafka": {"topic": make_topic(1)}},
            "no broker": {"kafka": {"bootstrap_servers": "127.0.0.1:1", "connect_timeout": "100ms"}},
        }
        wrong = mistakes[mistake]
        settings = settings_of(broker, topic, tmp_path, reports=ONLY_PAGES, **RULES, **wrong)
        with pytest.raises(SetUpError), open_service(settings):
            pass
        assert versions(tmp_path) == before
        take(service, broker, topic, 11)
    assert assert_conserved(tmp_path).counted == 2
    assert len(rows(tmp_path, "page_views")) == 1


def test_a_mistaken_start_leaves_nothing_where_there_was_nothing(broker: Cluster, tmp_path: Path) -> None:
    settings = settings_of(broker, "no-such-topic", tmp_path / "warehouse", **RULES)
    with pytest.raises(SetUpError, match="there is no topic no-such-topic"), open_service(settings):
        pass
    assert not (tmp_path / "warehouse").exists()


def test_a_recreated_topic_is_another_topic(broker: Cluster, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    settings = settings_of(broker, topic, tmp_path, **RULES)
    with open_service(settings, now=Clock()) as service:
        take(service, broker, topic, 1)
    make_anew(broker, topic)
    # As long as the old topic, so offsets alone do not distinguish them.
    send(broker.bootstrap_servers, topic, [event("bob", START + second * 1000) for second in range(3)])
    with pytest.raises(SetUpError, match=f"topic {topic} was deleted and recreated"), open_service(settings):
        pass
    assert latest_batch(tmp_path)[0]["epoch"] == 1


def test_the_same_name_on_another_cluster_is_another_topic(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    with open_service(settings_of(broker, topic, tmp_path / "warehouse", **RULES), now=Clock()) as service:
        take(service, broker, topic, 1)
    with Broker(tmp_path / "broker", options=[BRIEF_JVM]) as other:
        other.create_topic(topic, 1, **ANY_TIMESTAMP)
        settings = settings_of(Cluster(other.bootstrap_servers), topic, tmp_path / "warehouse", **RULES)
        with pytest.raises(SetUpError, match=r"is the cluster .* Name that cluster"), open_service(settings):
            pass


def test_what_retention_took_before_it_was_read_stops_the_service_or_is_written_down(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    settings = settings_of(broker, topic, tmp_path, **RULES)
    with open_service(settings, now=Clock()) as service:
        take(service, broker, topic, 1)
    send(broker.bootstrap_servers, topic, [event("ann", START + second * 1000) for second in range(2, 7)])
    gone = TopicPartition(topic, 0, 4)
    client = admin(broker.bootstrap_servers)  # kept: its answers go when it goes
    client.delete_records([gone])[gone].result(PATIENCE_S)
    with pytest.raises(SetUpError, match="records were deleted before they were read"), open_service(settings):
        pass
    assert batches(tmp_path)[-1:] == [batch["batch"] for batch in latest_batch(tmp_path)]
    recorded = settings_of(broker, topic, tmp_path, kafka={"on_data_loss": "record"}, **RULES)
    with open_service(recorded, now=Clock()) as service:
        (opening,) = latest_batch(tmp_path)
        assert (opening["from_offset"], opening["to_offset"], opening["lost"]) == (1, 4, 3)
        service.drain()
    assert assert_conserved(tmp_path).counted == 3


def make_anew(broker: Cluster, topic: str) -> None:
    """Deletes a topic, and makes one of the same name."""
    client = admin(broker.bootstrap_servers)
    client.delete_topics([topic])[topic].result(PATIENCE_S)
    wait_for(lambda: topic not in client.list_topics(timeout=PATIENCE_S).topics, PATIENCE_S, "the topic's end")
    broker.create_topic(topic, 1, **ANY_TIMESTAMP)
