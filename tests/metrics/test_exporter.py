"""The HTTP endpoint, asked as Prometheus and Kubernetes ask it."""

import socket
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from http.client import HTTPConnection

import pytest

from pipeline.errors import SetUpError
from pipeline.metrics.exporter import Exporter
from pipeline.metrics.observer import Observer
from pipeline.settings.model import MetricsSettings
from tests.metrics.fakes import World, frontier

PATIENCE_S = 5  # less than the ten seconds that the exporter gives a client
SETTINGS = MetricsSettings(port=0, stuck_after=timedelta(minutes=1))


@pytest.fixture
def world() -> World:
    return World(log_ends={0: 10})


@pytest.fixture
def observer(world: World) -> Observer:
    return world.observer(SETTINGS)


@pytest.fixture
def port(observer: Observer) -> Iterator[int]:
    """An exporter's port."""
    with closing(Exporter(observer, SETTINGS)) as exporter:
        yield exporter.port


def get(port: int, path: str, accept: str = "*/*") -> tuple[int, str, str]:
    """Status, content type and body."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
        connection.request("GET", path, headers={"Accept": accept})
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read().decode()


def test_metrics_come_as_text_or_as_openmetrics(port: int) -> None:
    status, kind, body = get(port, "/metrics")
    assert (status, kind.split(";")[0]) == (200, "text/plain")
    assert "tidemark_batches_total 0.0\n" in body
    status, kind, body = get(port, "/metrics", "application/openmetrics-text; version=1.0.0")
    assert (status, kind.split(";")[0]) == (200, "application/openmetrics-text")
    assert body.endswith("# EOF\n")


def test_health_is_200_while_the_loop_comes_round_and_503_when_it_is_stuck(
    world: World, observer: Observer, port: int
) -> None:
    observer.opened(1, frontier({0: 0}))
    status, _, body = get(port, "/healthz")
    assert (status, body) == (200, "Well: the service is at work; its loop came round 0.0 s ago.\n")
    world.now += 60_000
    status, _, body = get(port, "/healthz")
    assert status == 503
    assert body == "Unwell: the service is at work; its loop came round 60.0 s ago, and 60 s is too long.\n"


def test_readiness_is_503_until_the_service_caught_up(observer: Observer, port: int) -> None:
    assert get(port, "/readyz")[0] == 503
    observer.caught_up()
    assert get(port, "/readyz")[0] == 200


def test_any_other_path_is_404_and_says_what_there_is(port: int) -> None:
    status, _, body = get(port, "/")
    assert (status, body) == (404, "There is /metrics, /healthz and /readyz.\n")


def test_a_port_in_use_is_one_sentence_that_says_what_to_do(observer: Observer, port: int) -> None:
    with pytest.raises(SetUpError) as error:
        Exporter(observer, MetricsSettings(port=port))
    assert str(error.value) == (
        f"cannot serve metrics on 127.0.0.1 port {port} (Address already in use): "
        "stop what listens there, or set metrics.port (0 takes a free one) or metrics.host"
    )


def test_a_host_that_is_not_ours_is_a_set_up_error(observer: Observer) -> None:
    with pytest.raises(SetUpError, match=r"metrics on 192\.0\.2\.1 port 0"):
        Exporter(observer, MetricsSettings(host="192.0.2.1", port=0))


def test_a_closed_exporter_gives_its_port_back(observer: Observer) -> None:
    exporter = Exporter(observer, SETTINGS)
    exporter.close()
    with socket.create_server(("127.0.0.1", exporter.port)):
        pass


def test_a_client_that_says_nothing_holds_up_nobody_else(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)):
        assert get(port, "/readyz")[0] == 503
