"""A service that is stopped, hangs, is unhealthy or is another program: each has a sentence of its own."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from threading import Thread

import pytest

from demo.children import free_port
from tests.support.waiting import PATIENCE_S
from tidemark.http_server.listening import listen
from tidemark.pipeline.reading import health_client
from tidemark.pipeline.reading.health_client import ServiceHealth, service_health
from tidemark.pipeline.settings.model import MetricsSettings

UNHEALTHY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 14\r\n\r\nUnhealthy: old"
SILENT_BODY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 14\r\n\r\n"


@contextmanager
def answering(answer: bytes | None) -> Iterator[MetricsSettings]:
    """A port that sends the bytes to each client, and then closes the connection unless they are `SILENT_BODY`."""
    with closing(listen("127.0.0.1", 0)) as listening:
        clients = list[socket.socket]()

        def answer_all() -> None:
            asked = b"yes"
            while asked:
                client, _ = listening.accept()
                clients.append(client)
                with suppress(ConnectionError):  # an impatient client has gone
                    asked = client.recv(10_000)
                    client.sendall(answer or b"")
                if answer != SILENT_BODY:
                    client.close()

        server = Thread(target=answer_all, daemon=True)
        if answer is not None:
            server.start()
        yield MetricsSettings(port=listening.getsockname()[1])
        if answer is not None:
            socket.create_connection(listening.getsockname()).close()  # asks nothing, which ends the thread
            server.join()
        for client in clients:
            client.close()


def health_within(seconds: float, metrics: MetricsSettings, monkeypatch: pytest.MonkeyPatch) -> ServiceHealth:
    """Returns the health by a client that waits for each part of the answer up to `seconds`."""
    monkeypatch.setattr(health_client, "_ANSWER_S", seconds)
    health = service_health(metrics, "")
    assert not health.is_healthy
    assert health.sentence.startswith(f"The service at http://127.0.0.1:{metrics.port}/healthz ")
    assert "stopped" not in health.sentence
    return health


@pytest.mark.parametrize(
    ("answer", "within_s", "sentence"),
    [
        (None, 0.2, "does not answer within 0.2 s: it may be stuck."),
        (b"220 mail.example ESMTP\r\n", PATIENCE_S, "does not answer: 220 mail.example ESMTP"),
        (b"", PATIENCE_S, "does not answer: Remote end closed connection without response."),
        (UNHEALTHY, PATIENCE_S, "is unhealthy: Unhealthy: old"),
    ],
)
@pytest.mark.slow
def test_a_service_that_listens_is_not_called_stopped(
    answer: bytes | None, within_s: float, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(answer) as metrics:
        assert sentence in health_within(within_s, metrics, monkeypatch).sentence


@pytest.mark.slow
def test_an_unhealthy_service_that_sends_no_sentence_is_called_unhealthy(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = []
    with answering(SILENT_BODY) as metrics:
        for within_s in (0.2, 2, 20, 200):  # the header has to come within this time, the body never comes
            sentences.append(health_within(within_s, metrics, monkeypatch).sentence)
            if "does not answer within" not in sentences[-1]:
                break
    assert "is unhealthy: Service Unavailable" in sentences[-1]


def test_a_service_whose_port_refuses_is_called_stopped() -> None:
    metrics = MetricsSettings(port=free_port())
    sentence = (
        f"The service is stopped, or on another host: nothing listens at http://127.0.0.1:{metrics.port}/healthz."
    )
    assert (service_health(metrics, "").is_healthy, service_health(metrics, "").sentence) == (False, sentence)
