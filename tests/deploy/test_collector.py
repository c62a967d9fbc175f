"""The collector of docker-compose.yml: its container as a process, with nothing that it could write to."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.deploy.containers import HOST, Here
from tests.deploy.files import services
from tests.producers.collect.collect_client import Asker, event, request_body
from tests.support.kafka_cluster import Cluster
from tests.support.topic_reader import consumed
from tests.support.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.broker

PORT = "8480"


@pytest.mark.broker
def test_the_collector_is_healthy_and_accepts_events_from_pages_of_any_site(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    here, topic = Here(tmp_path), make_topic()
    here.ports["19092"] = int(broker.bootstrap_servers.rpartition(":")[2])
    with here.container("collect", "--topic", topic) as process:
        wait_for(lambda: "collecting for" in process.said or not process.alive, PATIENCE_S, "its start")
        assert process.alive, process.said
        _, *check = services()["collect"]["healthcheck"]["test"]
        assert here.run("collect", *check).returncode == 0
        answer = Asker(f"http://{HOST}:{here.port(PORT)}").post(request_body(event()), origin="https://shop.example")
        assert answer.status == 204
    assert here.run("collect", *check).returncode != 0
    assert len(list(consumed(broker.bootstrap_servers, topic))) == 1
