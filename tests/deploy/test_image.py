"""The image in containers: built by the Dockerfile, run with the options of compose, and its tables read back."""

import json
import shlex
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.request import urlopen

import psycopg
import pytest

from dev.image import build, has_bases
from dev.podman import missing_programs
from tests.deploy.containers import HOST, Here
from tests.deploy.files import SERVICE, commands_of, services, stop_grace_s
from tests.deploy.first_hour import PAGE, Compose
from tests.deploy.podman import Container, Containers
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.waiting import PATIENCE_S, wait_for
from tests.support.warehouse import records, rows
from tidemark.producers.cli import main as produce

pytestmark = pytest.mark.broker

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
EVENTS, FLOOD = 400, 200_000
USER = 10001
SHORT = {"TIDEMARK_SPARK__CONF": json.dumps(BRIEF_DRIVER), "TIDEMARK_WINDOW__SIZE": "2s"}
"""A test does not wait for a minute to fire."""


@pytest.fixture(scope="module")
def image() -> None:
    """Builds the image; layers that did not change are in the storage."""
    if absent := missing_programs():
        pytest.skip(f"{', '.join(absent)} is not on PATH: `apt-get install podman buildah crun mmdebstrap`")
    if not has_bases():
        pytest.skip("there are no base images: `python -m dev.image` makes them, in ten minutes")
    build()


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Here]:
    """Yields ports and broker of the containers, with the topic."""
    here = Here(tmp_path)
    with here.kafka():
        here.make_topic()
        yield here


def send(here: Here, events: int, compression: str) -> None:
    """Sends events into the topic of compose."""
    where = ["--bootstrap-servers", f"{HOST}:{here.port('19092')}", "--topic", "user-events"]
    assert produce(["simulate", *where, "--rate", "0", "--events", str(events), "--compression", compression]) == 0


def answers(container: Container, port: int, path: str) -> bool:
    """Returns whether an endpoint answers with 200."""
    assert container.state["Running"], container.said
    try:
        with urlopen(f"http://{HOST}:{port}{path}", timeout=PATIENCE_S) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.mark.jvm
@pytest.mark.broker
@pytest.mark.nightly
@pytest.mark.usefixtures("image")
def test_the_services_of_compose_run_in_containers(here: Here) -> None:
    with Containers(here) as containers:
        service = containers.start("tidemark", **SHORT)
        for codec in CODECS:
            send(here, EVENTS, codec)
        warehouse = containers.volume("warehouse") / "warehouse"
        reads(service, warehouse, len(CODECS) * EVENTS)
        service.check_health()
        assert {path.stat().st_uid for path in warehouse.iterdir()} == {USER}, "of the user in the image"
        others_run(containers, here, service, warehouse)
        stops_under_load_and_resumes(containers, here, service, warehouse)


@pytest.mark.jvm
@pytest.mark.broker
@pytest.mark.nightly
@pytest.mark.usefixtures("image")
def test_the_service_runs_under_a_user_id_without_an_account(here: Here) -> None:
    with Containers(here, user=54321) as containers:
        service = containers.start("tidemark", **SHORT)
        send(here, EVENTS, "zstd")
        warehouse = containers.volume("warehouse") / "warehouse"
        reads(service, warehouse, EVENTS)
        assert {path.stat().st_uid for path in warehouse.iterdir()} == {54321}
        containers.run("tidemark", "verify")  # raises at a violation


def reads(service: Container, warehouse: Path, events: int) -> None:
    """Returns when the ledger has at least this many records."""

    def has_read() -> bool:
        assert service.state["Running"], service.said
        return records(warehouse) >= events

    wait_for(has_read, PATIENCE_S, f"the reading of {events} records")


def others_run(containers: Containers, here: Here, service: Container, warehouse: Path) -> None:
    """The producer, the dashboard, the SQL server and the collector run while the service does."""
    before = records(warehouse)
    producer = containers.start("producer")
    reads(service, warehouse, before + 1000)
    wait_for(lambda: rows(warehouse, "page_views"), PATIENCE_S, "a window in page_views")
    ports = {name: here.port(port) for name, port in (("dashboard", "9478"), ("sql", "10000"), ("collect", "8480"))}
    dashboard = containers.start("dashboard", "--dashboard.port", str(ports["dashboard"]))
    sql = containers.start("sql", "--port", str(ports["sql"]))
    collector = containers.start("collect")
    for container, name in ((dashboard, "dashboard"), (collector, "collect")):
        wait_for(lambda c=container, n=name: answers(c, ports[n], "/healthz"), PATIENCE_S, name)  # type: ignore[misc]
        container.check_health()
    wait_for(lambda: "sql_server_listening" in sql.said or not sql.state["Running"], PATIENCE_S, "the SQL server")
    password = services()["sql"]["environment"]["TIDEMARK_SQL_PASSWORD"]
    address = f"host={HOST} port={ports['sql']} user=tidemark password={password} dbname=tidemark"
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT count(*) > 0 FROM page_views").fetchone() == (True,)
    for container in (producer, dashboard, sql, collector):
        container.stop(10)
        assert container.state["ExitCode"] == 0, container.said


def stops_under_load_and_resumes(containers: Containers, here: Here, service: Container, warehouse: Path) -> None:
    """Stops within the grace period during a backlog; a later start reads all, and the invariants hold."""
    send(here, FLOOD, "zstd")
    grace = stop_grace_s("tidemark")
    service.stop(grace)
    assert service.state["ExitCode"] == 0, f"137 if it was killed after {grace} s: {service.said}"
    done = records(warehouse)
    service.start()
    reads(service, warehouse, done + 1)
    service.kill()
    service.start()
    reads(service, warehouse, FLOOD)
    service.stop(grace)
    containers.run("tidemark", "verify")  # raises at a violation


@pytest.mark.jvm
@pytest.mark.broker
@pytest.mark.nightly
@pytest.mark.usefixtures("image")
def test_the_commands_of_the_first_hour_run_in_containers(tmp_path: Path) -> None:
    here = Here(tmp_path)
    with Containers(here) as containers, closing(Compose(here, containers, SHORT)) as compose:
        outputs = [(shlex.join(words), compose(words)) for words in commands_of(PAGE)]
        codes = {name: container.state["ExitCode"] for name, container in compose.running.items()}
    printed = dict(outputs)  # of the last run of each
    assert printed["docker compose exec tidemark tidemark health"].startswith("Healthy: the service is running")
    assert "tidemark_watermark" in printed["curl --silent http://127.0.0.1:9477/metrics"]
    queries = [output for command, output in outputs if command.startswith("psql")]
    assert ["page_views_live" in queries[0], "window_start" in queries[2]] == [True, True]
    assert {*compose.running} == {name for name, service in services().items() if service["image"] == SERVICE}
    assert set(codes.values()) <= {0, 143}, f"{codes}: ended by SIGTERM, not killed"
