"""The driver's command as rendered for Kubernetes, and executors as Spark asks the image for them, as processes."""

import json
import re
import shlex
import signal
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from zipfile import ZipFile

import pytest

from demo.children import free_port
from demo.standalone import CLOSED, HOST, SECRET, SPARK_HOME, standalone_cluster
from tests.deploy.containers import entry
from tests.deploy.rendered import DEV, PRODUCTION, Resource, config, driver, one, variables
from tests.support.against_truth import assert_matches_truth
from tests.support.brief_java import BRIEF_DRIVER, BRIEF_JVM
from tests.support.kafka_cluster import Cluster
from tests.support.object_store import object_store
from tests.support.processes import Process
from tests.support.seeds import in_turn
from tests.support.waiting import PATIENCE_S, wait_for
from tests.support.warehouse import records
from tidemark.pipeline.runtime.spark import JVM_OPTIONS
from tidemark.producers.cli import main as produce
from tidemark.producers.truth import Truth

pytestmark = pytest.mark.broker

EVENTS = 3_000
DISORDER = (
    *("--rate", "0", "--events", str(EVENTS), "--event-rate", "100", "--users", "50", "--jitter", "1s"),
    *("--late-share", "0.02", "--late-after", "10s", "--future-share", "0.01", "--malformed-share", "0.04"),
)


@pytest.mark.slow
def test_the_warehouse_of_dev_is_on_its_volume() -> None:
    assert Path(config(DEV)["warehouse"]).is_relative_to(mounted(driver(DEV), "state"))


@pytest.mark.slow
@pytest.mark.parametrize("overlay", [DEV, PRODUCTION], ids=["dev", "production"])
def test_the_image_reads_the_settings_of_an_overlay(overlay: Path, tmp_path: Path) -> None:
    """Each night and, with executors, in CI drivers also start with them."""
    with entry(tmp_path / "log", ["config", "show"], environment_of(tmp_path, overlay, {})) as process:
        assert process.wait() == 0, process.said
    assert f'topic = "{config(overlay)["kafka"]["topic"]}"' in process.said
    assert f'warehouse = "{config(overlay)["warehouse"]}"' in process.said


@pytest.mark.nightly
def test_the_driver_of_dev_reads_a_topic_into_its_own_disk(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, warehouse = make_topic(partitions=2), tmp_path / "warehouse"
    truth = produced(broker, topic, tmp_path)
    environment = {**of(broker, topic), "TIDEMARK_WAREHOUSE": str(warehouse)}
    with started(tmp_path, DEV, environment, BRIEF_DRIVER) as service:
        reads_all(service, warehouse)
    assert_matches_truth(warehouse, truth)


@pytest.mark.long
@in_turn(0, 4)
def test_the_driver_of_production_works_on_an_object_store_with_executors_of_its_image(
    broker: Cluster, make_topic: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, port, settings = make_topic(partitions=2), free_port(), config(PRODUCTION)
    truth, warehouse = produced(broker, topic, tmp_path), settings["warehouse"]
    homes = [
        tmp_path / f"executor-{number}" for number in range(int(settings["spark"]["conf"]["spark.executor.instances"]))
    ]
    with ExitStack() as stack:
        # A master without workers instead of Kubernetes: any process with the driver's address may be its executor.
        cluster = stack.enter_context(standalone_cluster(tmp_path / "cluster", workers=0))
        store = stack.enter_context(object_store(tmp_path / "store"))
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        store.make_bucket(warehouse.removeprefix("s3://").split("/")[0])
        environment = {**of(broker, topic), **store.environment, "TIDEMARK_SPARK__MASTER": cluster.url}
        here = {**CLOSED, "spark.driver.host": HOST, "spark.driver.port": str(port), "spark.blockManager.port": "0"}
        service = stack.enter_context(started(tmp_path, PRODUCTION, environment, {**here, **BRIEF_DRIVER}))
        # The driver that asks Kubernetes for executors exists.
        wait_for(lambda: "epoch_opened" in service.said or not service.alive, PATIENCE_S, "the driver")
        (application,) = cluster.applications()
        for number, home in enumerate(homes, 1):
            home.mkdir()
            environment = {**of_executor(number, port, application), "TMPDIR": str(home)}
            stack.enter_context(entry(home.with_suffix(".log"), ["executor"], environment))
        reads_all(service, warehouse)
        assert_matches_truth(warehouse, truth)
    for home in homes:
        said = home.with_suffix(".log").read_text()
        assert "Finished task" in said, said
        assert list(home.glob("*.jar")), (
            "Spark copies jars to where an executor is started, and nothing else can be written"
        )


def produced(broker: Cluster, topic: str, folder: Path) -> Truth:
    """Fills the topic, and returns the truth of the run."""
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
    """Runs the driver's container with its rendered file; variables override what differs on this machine."""
    return entry(folder / "driver.log", driver(overlay)["args"], {**environment_of(folder, overlay, conf), **here})


def environment_of(folder: Path, overlay: Path, conf: Mapping[str, str]) -> dict[str, str]:
    """Writes the files of the ConfigMap; returns the container's variables for them, and for Spark's properties."""
    container = driver(overlay)
    environment, place = variables(container), mounted(container, "config")
    for name, text in one(overlay, "ConfigMap")["data"].items():
        (folder / name).write_text(text.replace(place, str(folder)))
    environment["TIDEMARK_CONFIG"] = environment["TIDEMARK_CONFIG"].replace(place, str(folder))
    environment["TIDEMARK_SPARK__CONF"] = json.dumps(
        {**json.loads(environment.get("TIDEMARK_SPARK__CONF", "{}")), **conf}
    )
    return {**environment, "TIDEMARK_METRICS__PORT": "0"}


def of_executor(number: int, port: int, application: str) -> dict[str, str]:
    """Returns the environment that Spark's `BasicExecutorFeatureStep` gives a pod.

    The secret is the application's: a driver does not speak to the executor of another.
    """
    closed = [f"-D{name}={value}" for name, value in CLOSED.items() if value != SECRET]
    options = [BRIEF_JVM, *of_modules(), *shlex.split(JVM_OPTIONS), *closed]
    return {
        "SPARK_DRIVER_URL": f"spark://CoarseGrainedScheduler@{HOST}:{port}",
        "SPARK_EXECUTOR_ID": str(number),
        "_SPARK_AUTH_SECRET": SECRET,
        "SPARK_EXECUTOR_CORES": "1",
        "SPARK_EXECUTOR_MEMORY": "600m",
        "SPARK_APPLICATION_ID": application,
        "SPARK_EXECUTOR_POD_IP": HOST,
        "SPARK_EXECUTOR_POD_NAME": f"tidemark-exec-{number}",
        "SPARK_RESOURCE_PROFILE_ID": "0",
        **{f"SPARK_JAVA_OPT_{place}": option for place, option in enumerate(options)},
    }


def of_modules() -> list[str]:
    """The options that Spark adds to those of every JVM, as its launcher's class has them."""
    (launcher,) = (SPARK_HOME / "jars").glob("spark-launcher_*.jar")
    found = ZipFile(launcher).read("org/apache/spark/launcher/JavaModuleOptions.class")
    return [option.decode() for option in re.findall(rb"--add-opens=[\w./=-]+", found)]


def reads_all(service: Process, warehouse: Path | str) -> None:
    """Returns when the service has read what was produced and has stopped in order."""
    wait_for(lambda: not service.alive or records(warehouse) == EVENTS, PATIENCE_S, "the reading of all events")
    assert service.alive, service.said
    service.send(signal.SIGTERM)
    assert service.wait() == 0, service.said
