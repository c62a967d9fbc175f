"""The HTTP endpoint, with the requests of Prometheus and Kubernetes."""

import base64
import gzip
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.metrics.fakes import World, frontier
from tests.support.certificates import Authority
from tests.support.flood import dripping, hostile, is_ended, open_files
from tests.support.waiting import PATIENCE_S, wait_for
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.metrics.exporter import LIMITS, Exporter
from tidemark.pipeline.metrics.observer import Observer
from tidemark.pipeline.settings.model import MetricsSettings

pytestmark = pytest.mark.slow

PATIENT = replace(LIMITS, header_s=10 * PATIENCE_S, request_s=10 * PATIENCE_S)
"""A client that others had to wait for would delay them for longer than they wait."""
SPARE = 8
"""File descriptors of the server: of its loop and of its threads."""
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
    with closing(Exporter(observer, SETTINGS, PATIENT)) as exporter:
        yield exporter.port


def get(port: int, path: str, accept: str = "*/*", headers: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Status, content type and body."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
        connection.request("GET", path, headers={"Accept": accept, **(headers or {})})
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
    assert (status, body) == (200, "Healthy: the service is running; its last loop was 0.0 s ago.\n")
    world.now += 60_000
    status, _, body = get(port, "/healthz")
    assert status == 503
    assert body == "Unhealthy: the service is running; its last loop was 60.0 s ago, and 60 s is too long.\n"


def test_readiness_is_503_until_the_service_caught_up(observer: Observer, port: int) -> None:
    assert get(port, "/readyz")[0] == 503
    observer.caught_up()
    assert get(port, "/readyz")[0] == 200


def test_any_other_path_is_404_and_lists_the_paths(port: int) -> None:
    status, _, body = get(port, "/")
    assert (status, body) == (404, "There is /metrics, /healthz and /readyz.\n")


def test_a_port_in_use_is_reported_with_what_to_do(observer: Observer, port: int) -> None:
    with pytest.raises(SetUpError) as error:
        Exporter(observer, MetricsSettings(port=port))
    assert str(error.value) == (
        f"cannot serve metrics on 127.0.0.1 port {port} (Address already in use): "
        "stop the program that uses this port, or set metrics.port (0 takes a free port) or metrics.host"
    )


def test_a_host_that_is_not_ours_is_a_set_up_error(observer: Observer) -> None:
    with pytest.raises(SetUpError, match=r"metrics on 192\.0\.2\.1 port 0"):
        Exporter(observer, MetricsSettings(host="192.0.2.1", port=0))


def test_a_closed_exporter_gives_its_port_back(observer: Observer) -> None:
    exporter = Exporter(observer, SETTINGS)
    exporter.close()
    with socket.create_server(("127.0.0.1", exporter.port)):
        pass


def test_a_silent_client_does_not_delay_others(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)):
        assert get(port, "/readyz")[0] == 503


def test_thousands_of_clients_that_never_finish_do_not_delay_others_and_take_few_files(port: int) -> None:
    assert get(port, "/readyz")[0] == 503
    before = open_files()
    with dripping(port, 2_000) as clients:
        assert get(port, "/metrics")[0] == 200
        assert get(port, "/healthz")[0] == 200
        assert open_files() - before - len(clients) <= LIMITS.connections


def test_hostile_requests_are_answered_or_ended(port: int) -> None:
    before = open_files()
    for request in hostile(3_400):
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as client:
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
            assert is_ended(client), request
    assert get(port, "/healthz")[0] == 200
    wait_for(lambda: open_files() <= before + SPARE, PATIENCE_S, "the end of all connections")


def test_metrics_are_compressed_and_chosen_as_they_are_asked_for(port: int) -> None:
    with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
        connection.request("GET", "/metrics?name[]=tidemark_batches_total", headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        assert answer.headers["Content-Encoding"] == "gzip"
        body = gzip.decompress(answer.read()).decode()
    assert [line for line in body.splitlines() if not line.startswith("#")] == ["tidemark_batches_total 0.0"]


SECRET = {"username": "prometheus", "password": "hunter2bqkz"}
GUARDED = MetricsSettings.model_validate({"port": 0, "stuck_after": "1m", **SECRET})


def authorization(name: str, password: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"}


@pytest.mark.parametrize(
    "headers", [{}, authorization("prometheus", "guessed"), authorization("eve", "hunter2bqkz"), {"Authorization": "ä"}]
)
def test_metrics_need_the_password(observer: Observer, headers: dict[str, str]) -> None:
    with closing(Exporter(observer, GUARDED)) as exporter:
        status, _, body = get(exporter.port, "/metrics", headers=headers)
    assert (status, body) == (401, "Wrong user name or password.\n")


def test_the_password_opens_metrics_and_probes_need_no_password(observer: Observer) -> None:
    with closing(Exporter(observer, GUARDED)) as exporter:
        assert get(exporter.port, "/metrics", headers=authorization("prometheus", "hunter2bqkz"))[0] == 200
        assert get(exporter.port, "/healthz")[0] == 200
        assert get(exporter.port, "/readyz")[0] == 503


def test_the_page_uses_tls_and_a_client_without_tls_does_not_delay_others(observer: Observer, tmp_path: Path) -> None:
    authority = Authority(tmp_path, "authority")
    pair = authority.sign("page")
    context = ssl.create_default_context(cafile=authority.file)
    settings = SETTINGS.model_copy(update={"certificate": pair.certificate, "key": pair.key})
    exporter = Exporter(observer, settings, PATIENT)
    with closing(exporter), socket.create_connection(("127.0.0.1", exporter.port)):
        with pytest.raises((OSError, HTTPException)):
            get(exporter.port, "/metrics")
        with closing(HTTPSConnection("127.0.0.1", exporter.port, timeout=PATIENCE_S, context=context)) as connection:
            connection.request("GET", "/metrics")
            assert connection.getresponse().status == 200


def served(port: int) -> bytes:
    """The certificate that the endpoint presents, as DER."""
    return ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate(("127.0.0.1", port), timeout=PATIENCE_S))


def test_a_renewed_certificate_is_served_and_a_broken_file_changes_nothing(observer: Observer, tmp_path: Path) -> None:
    authority = Authority(tmp_path, "authority")
    pair = authority.sign("page", timedelta(seconds=-1))  # it has ended: no scrape succeeds any more
    settings = SETTINGS.model_copy(update={"certificate": pair.certificate, "key": pair.key})
    with closing(Exporter(observer, settings)) as exporter:
        ended = served(exporter.port)
        authority.sign("page")
        renewed = served(exporter.port)
        assert renewed == ssl.PEM_cert_to_DER_cert(pair.certificate.read_text()) != ended
        pair.key.write_text("half a key")
        assert served(exporter.port) == renewed


def test_a_certificate_that_cannot_be_used_is_a_set_up_error(observer: Observer, tmp_path: Path) -> None:
    pair = Authority(tmp_path, "authority").sign("page")
    pair.key.write_text("no key")
    with pytest.raises(SetUpError, match=r"metrics\.certificate .* and metrics\.key .* cannot be used"):
        Exporter(observer, SETTINGS.model_copy(update={"certificate": pair.certificate, "key": pair.key}))


@pytest.mark.parametrize(
    "half", [{"certificate": "a"}, {"username": "a"}, {"password": "a"}, {**SECRET, "password_file": "a"}]
)
def test_settings_that_belong_together_must_be_set_together(half: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="belong together: set both or neither"):
        MetricsSettings.model_validate(half)
