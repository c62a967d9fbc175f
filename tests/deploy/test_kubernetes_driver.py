"""The driver's command as rendered for Kubernetes, as a process."""

import json
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from producers.cli import main as produce
from producers.truth import Truth
from tests.deploy.containers import entry
from tests.deploy.rendered import DEV, Resource, config, driver, one, variables
from tests.support.against_truth import assert_tells_the_truth
from tests.support.class_archive import BRIEF_DRIVER
from tests.support.kafka_cluster import Cluster
from tests.support.processes import Process
from tests.support.waiting import wait_for
from tests.support.warehouse import records

EVENTS = 3_000
CAUGHT_UP_S = 240
DISORDER = (
    *("--rate", "0", "--events", str(EVENTS), "--event-rate", "100", "--users", "50", "--jitter", "1s"),
    *("--late-share", "0.02", "--late-after", "10s", "--future-share", "0.01", "--malformed-share", "0.04"),
)


@pytest.mark.timeout(600)
def test_the_driver_of_dev_reads_a_topic_into_its_own_disk(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, warehouse = make_topic(partitions=2), tmp_path / "warehouse"
    truth = produced(broker, topic, tmp_path)
    assert Path(config(DEV)["warehouse"]).is_relative_to(mounted(driver(DEV), "state"))
    told = {**of(broker, topic), "TIDEMARK_WAREHOUSE": str(warehouse)}
    with started(tmp_path, DEV, told, BRIEF_DRIVER) as service:
        reads_all(service, warehouse)
    assert_tells_the_truth(warehouse, truth)


def produced(broker: Cluster, topic: str, folder: Path) -> Truth:
    """Fills the topic, and tells with what."""
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", topic)
    assert produce(["simulate", *where, *DISORDER, "--truth", str(folder / "truth.json")]) == 0
    return Truth.load(folder / "truth.json")


def mounted(container: Resource, name: str) -> str:
    """Where a volume is in a container."""
    (path,) = [mount["mountPath"] for mount in container["volumeMounts"] if mount["name"] == name]
    return str(path)


def of(broker: Cluster, topic: str) -> dict[str, str]:
    """The variables that name a topic."""
    return {"TIDEMARK_KAFKA__BOOTSTRAP_SERVERS": broker.bootstrap_servers, "TIDEMARK_KAFKA__TOPIC": topic}


def started(folder: Path, overlay: Path, here: Mapping[str, str], conf: Mapping[str, str]) -> Process:
    """The driver's container with its file as rendered; what is otherwise here, variables say, which win."""
    it = driver(overlay)
    told, place = variables(it), mounted(it, "config")
    for name, text in one(overlay, "ConfigMap")["data"].items():
        (folder / name).write_text(text.replace(place, str(folder)))
    told["TIDEMARK_CONFIG"] = told["TIDEMARK_CONFIG"].replace(place, str(folder))
    told["TIDEMARK_SPARK__CONF"] = json.dumps({**json.loads(told.get("TIDEMARK_SPARK__CONF", "{}")), **conf})
    return entry(folder / "driver.log", it["args"], {**told, "TIDEMARK_METRICS__PORT": "0", **here})


def reads_all(service: Process, warehouse: Path | str) -> None:
    """Returns when the service has read what was produced and has stopped in order."""
    wait_for(lambda: not service.alive or records(warehouse) == EVENTS, CAUGHT_UP_S, "the reading of all events")
    assert service.alive, service.said
    service.send(signal.SIGTERM)
    assert service.wait() == 0, service.said
