"""The HTTP endpoint: `/metrics`, which TLS, a name and a password may guard, `/healthz` and `/readyz`."""

import base64
import hmac
import socket
import socketserver
import ssl
import sys
from http import HTTPStatus
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import structlog
from prometheus_client import MetricsHandler

from kafka_access.secrets import clear_text
from pipeline.errors import SetUpError
from pipeline.metrics.health import Answer
from pipeline.metrics.observer import Observer
from pipeline.settings.model import MetricsSettings
from pipeline.settings.secrets import for_a_person

_log = structlog.get_logger()


class Exporter:
    """Serves an observer's answers from threads of its own until it is closed."""

    def __init__(self, observer: Observer, settings: MetricsSettings) -> None:
        """Listens. Raises SetUpError if the address cannot be had, or a secret or certificate cannot be used."""
        self.observer = observer
        try:
            self._server = _Server(observer, settings)
        except OSError as error:
            raise SetUpError(
                f"cannot serve metrics on {settings.host} port {settings.port} ({error.strerror}): "
                "stop what listens there, or set metrics.port (0 takes a free one) or metrics.host"
            ) from error
        self.port: int = self._server.server_address[1]
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="exporter")
        self._thread.daemon = True
        self._thread.start()

    def close(self) -> None:
        """Stops listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


# Not http.server.HTTPServer, which looks its own name up in the DNS before it listens.
class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, observer: Observer, settings: MetricsSettings) -> None:
        self.observer = observer
        self._admitted, self._tls = _admitted(settings), _tls(settings)
        address = settings.host, settings.port
        self.address_family = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0][0]  # IPv4 or IPv6
        super().__init__(address, _Handler.factory(observer.registry))

    def admits(self, authorization: str | None) -> bool:
        """Whether a request with this header may read metrics; the answer takes as long for any wrong one."""
        return self._admitted is None or hmac.compare_digest((authorization or "").encode(), self._admitted)

    def get_request(self) -> tuple[socket.socket, Any]:
        """The handshake is left to the request's own thread: a client that says nothing must hold up nobody else."""
        request, address = super().get_request()
        if self._tls:
            request = self._tls.wrap_socket(request, server_side=True, do_handshake_on_connect=False)
        return request, address

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - socketserver's signature
        """A client that went away, or speaks no TLS, is its own business."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError | ssl.SSLError):
            _log.exception("request failed", client=client_address)


class _Handler(MetricsHandler):
    server: _Server
    timeout = 10  # seconds a client may take to say what it wants

    def do_GET(self) -> None:  # noqa: N802 - http.server's name for it
        match urlsplit(self.path).path:
            case "/metrics" if self.server.admits(self.headers["Authorization"]):
                super().do_GET()
            case "/metrics":
                self._say(HTTPStatus.UNAUTHORIZED, "Wrong name or password.")
            case "/healthz":
                self._answer(self.server.observer.healthy())
            case "/readyz":
                self._answer(self.server.observer.ready())
            case _:
                self._say(HTTPStatus.NOT_FOUND, "There is /metrics, /healthz and /readyz.")

    def _answer(self, answer: Answer) -> None:
        self._say(HTTPStatus.OK if answer.ok else HTTPStatus.SERVICE_UNAVAILABLE, answer.sentence)

    def _say(self, status: HTTPStatus, sentence: str) -> None:
        body = f"{sentence}\n".encode()
        self.send_response(status)
        if status is HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", 'Basic realm="tidemark", charset="UTF-8"')
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _admitted(settings: MetricsSettings) -> bytes | None:
    """The header of who knows the name and the password; None where none is set, for everyone."""
    with for_a_person():
        password = clear_text(settings.password, settings.password_file, "metrics.password")
    known = f"{settings.username}:{password}".encode()
    return None if password is None else b"Basic " + base64.b64encode(known)


def _tls(settings: MetricsSettings) -> ssl.SSLContext | None:
    """What encrypts the page, if anything does."""
    if settings.certificate is None or settings.key is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(settings.certificate, settings.key)
    except OSError as error:
        raise SetUpError(
            f"metrics.certificate {settings.certificate} and metrics.key {settings.key} cannot be used: {error}"
        ) from error
    return context
