"""A service that is stopped, hangs, is unhealthy or is another program: each has a sentence of its own."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from threading import Thread

import pytest

from demo.children import free_port
from http_server.listening import listen
from pipeline.reading import health_client
from pipeline.reading.health_client import service_health
from pipeline.settings.model import MetricsSettings

UNHEALTHY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 14\r\n\r\nUnhealthy: old"
SILENT_BODY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 14\r\n\r\n"


@contextmanager
def answering(answer: bytes | None) -> Iterator[MetricsSettings]:
    """A port that sends the bytes to the first client, and then closes the connection unless they are `SILENT_BODY`."""
    with closing(listen("127.0.0.1", 0)) as listening:
        clients = list[socket.socket]()

        def answer_once() -> None:
            client, _ = listening.accept()
            clients.append(client)
            client.recv(10_000)
            client.sendall(answer or b"")
            if answer != SILENT_BODY:
                client.close()

        if answer is not None:
            Thread(target=answer_once, daemon=True).start()
        yield MetricsSettings(port=listening.getsockname()[1])
        for client in clients:
            client.close()


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (None, "does not answer within 0.2 s: it may be stuck."),
        (b"220 mail.example ESMTP\r\n", "does not answer: 220 mail.example ESMTP"),
        (b"", "does not answer: Remote end closed connection without response."),
        (UNHEALTHY, "is unhealthy: Unhealthy: old"),
        (SILENT_BODY, "is unhealthy: Service Unavailable"),
    ],
)
def test_a_service_that_listens_is_not_called_stopped(
    answer: bytes | None, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health_client, "_ANSWER_S", 0.2)
    with answering(answer) as metrics:
        health = service_health(metrics)
    assert not health.is_healthy
    assert health.sentence.startswith(f"The service at http://127.0.0.1:{metrics.port}/healthz ")
    assert sentence in health.sentence
    assert "stopped" not in health.sentence


def test_a_service_whose_port_refuses_is_called_stopped() -> None:
    metrics = MetricsSettings(port=free_port())
    sentence = (
        f"The service is stopped, or on another host: nothing listens at http://127.0.0.1:{metrics.port}/healthz."
    )
    assert (service_health(metrics).is_healthy, service_health(metrics).sentence) == (False, sentence)
