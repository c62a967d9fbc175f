"""Where a service begins to read, how a backlog is cut, and how it goes on after a restart."""

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from demo.topics import admin
from tests.support.conservation import assert_conserved
from tests.support.kafka_cluster import Cluster
from tests.support.services import ANY_TIMESTAMP, settings_of
from tests.support.topic_writer import Raw, event, send
from tests.support.waiting import wait_for
from tests.support.warehouse import batches, latest_batch, page_views
from tidemark.pipeline.app import open_service
from tidemark.pipeline.errors import SetUpError

pytestmark = pytest.mark.broker

MakeTopic = Callable[..., str]
START = 1_000_000
PATIENCE_S = 600
SETTINGS = {"time": {"bound": "5s", "allowed_lateness": "0s", "idle_timeout": "1h"}, "window": {"size": "10s"}}


def backlog(count: int, partitions: int) -> list[Raw]:
    """One event per second on each partition, each third of them 4 s late, which is within the bound."""
    return [
        event(f"user-{n % 3}", START + n * 1000 - (4000 if n % 3 == 0 else 0), partition=partition)
        for n in range(count)
        for partition in range(partitions)
    ]


def test_a_backlog_cut_into_several_batches_gives_the_same_tables(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic, taken = make_topic(2, **ANY_TIMESTAMP), {}
    send(broker.bootstrap_servers, topic, backlog(count=40, partitions=2))
    for name, most in {"whole": 1000, "cut": 18}.items():
        settings = settings_of(broker, topic, tmp_path / name, batch={"max_records": most}, **SETTINGS)
        with open_service(settings) as service:
            service.drain()
        assert assert_conserved(tmp_path / name).counted == 80
        taken[name] = len(batches(tmp_path / name))
    assert taken["whole"] == 1
    assert taken["cut"] >= 4
    assert page_views(tmp_path / "cut") == page_views(tmp_path / "whole") != {}


def test_an_empty_topic_is_drained_at_once_and_leaves_no_batch(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    with open_service(settings_of(broker, make_topic(2), tmp_path)) as service:
        service.drain()
        service.drain()
        service.tick()
    assert batches(tmp_path) == []
    balance = assert_conserved(tmp_path)
    assert (balance.records, balance.watermark) == (0, None)


def test_a_restart_goes_on_where_the_ledger_ends(broker: Cluster, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    settings = settings_of(broker, topic, tmp_path, **SETTINGS)
    for life, at in enumerate([START, START + 7_000, START + 16_000], start=1):
        send(broker.bootstrap_servers, topic, [event("ann", at)])
        with open_service(settings) as service:
            service.drain()
            service.drain()
        balance = assert_conserved(tmp_path)
        assert (balance.counted, balance.watermark) == (life, at - 5_000)
        assert latest_batch(tmp_path)[0]["epoch"] == life
    assert page_views(tmp_path) == {("ann", START, START + 10_000): (2, 0, 0)}


def test_a_restart_judges_by_the_watermark_of_the_life_before(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    settings = settings_of(broker, topic, tmp_path, **SETTINGS)
    for events in [[event("ann", START), event("ann", START + 20_000)], [event("ann", START + 1)]]:
        send(broker.bootstrap_servers, topic, events)
        with open_service(settings) as service:
            service.drain()
    assert assert_conserved(tmp_path).too_late == 1
    assert page_views(tmp_path) == {("ann", START, START + 10_000): (1, 0, 0)}


def test_a_partition_added_between_two_drains_is_read_from_its_beginning(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    with open_service(settings_of(broker, topic, tmp_path, **SETTINGS)) as service:
        send(broker.bootstrap_servers, topic, [event("ann", START)])
        service.drain()
        widen(broker, topic, partitions=2)
        send(broker.bootstrap_servers, topic, [event("bob", START, partition=1), event("ann", START + 1)])
        service.drain()
    assert assert_conserved(tmp_path).counted == 3
    assert [row["to_offset"] for row in latest_batch(tmp_path)] == [2, 1]


def test_a_partition_added_while_the_service_was_away_is_read_from_its_beginning(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    settings = settings_of(broker, topic, tmp_path, **SETTINGS)
    with open_service(settings) as service:
        send(broker.bootstrap_servers, topic, [event("ann", START)])
        service.drain()
    widen(broker, topic, partitions=2)
    send(broker.bootstrap_servers, topic, [event("bob", START, partition=1)])
    with open_service(settings) as service:
        service.drain()
    assert assert_conserved(tmp_path).counted == 2


def test_a_new_warehouse_may_begin_at_the_end_of_the_topic(
    broker: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1, **ANY_TIMESTAMP)
    send(broker.bootstrap_servers, topic, [event("ann", START), event("ann", START + 1)])
    settings = settings_of(broker, topic, tmp_path, kafka={"start": "latest"}, **SETTINGS)
    with open_service(settings) as service:
        service.drain()
    assert assert_conserved(tmp_path).records == 0
    send(broker.bootstrap_servers, topic, [event("bob", START)])
    with open_service(settings) as service:  # `latest` is for a new warehouse: this warehouse goes on
        service.drain()
    assert assert_conserved(tmp_path).counted == 1
    assert latest_batch(tmp_path)[0]["from_offset"] == 2


def test_a_warehouse_of_another_topic_is_refused(broker: Cluster, make_topic: MakeTopic, tmp_path: Path) -> None:
    one, other = make_topic(1), make_topic(1)
    with open_service(settings_of(broker, one, tmp_path)):
        pass
    refused = pytest.raises(SetUpError, match=f"holds topic {one}, not {other}")
    with refused, open_service(settings_of(broker, other, tmp_path)):
        pass


def test_a_warehouse_of_another_window_size_is_refused(broker: Cluster, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic(1)
    with open_service(settings_of(broker, topic, tmp_path)):
        pass
    refused = pytest.raises(
        SetUpError, match=r"page_views .* was made with windows grid size 1m .* the settings say windows grid size 30s"
    )
    with refused, open_service(settings_of(broker, topic, tmp_path, window={"size": "30s"})):
        pass


def widen(broker: Cluster, topic: str, partitions: int) -> None:
    """Add partitions to a topic."""
    client = admin(broker.bootstrap_servers)
    client.create_partitions([NewPartitions(topic, partitions)])[topic].result(PATIENCE_S)
    wait_for(lambda: led(client, topic) == partitions, PATIENCE_S, "leaders for the new partitions")


def led(client: AdminClient, topic: str) -> int:
    """How many partitions have a leader."""
    found = client.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions
    return sum(partition.leader >= 0 for partition in found.values())
