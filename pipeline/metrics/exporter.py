"""The HTTP endpoint: `/healthz`, `/readyz`, and `/metrics`, which TLS, a user name and a password can protect."""

import asyncio
import base64
import hmac
import ssl
from http import HTTPStatus
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tidemark.http_server.background import Background
from tidemark.http_server.exposition import Exposition
from tidemark.http_server.limits import Limits
from tidemark.http_server.listening import listen
from tidemark.http_server.served_certificate import tls_context
from tidemark.http_server.server import Server
from tidemark.kafka_access.secrets import clear_text
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.metrics.observer import Observer
from tidemark.pipeline.metrics.probes import WAREHOUSE_ID, ProbeAnswer
from tidemark.pipeline.settings.model import MetricsSettings
from tidemark.pipeline.settings.secrets import raising_set_up_errors

LIMITS: Final = Limits(connections=64, request_s=30)
"""Few clients read metrics, and the tables need file descriptors."""
_STOP_S: Final = 1


class Exporter:
    """Serves the answers of an observer in its own thread until it is closed."""

    def __init__(self, observer: Observer, settings: MetricsSettings, limits: Limits = LIMITS) -> None:
        """Listens. Raises SetUpError if the address, a secret or the certificate cannot be used."""
        self.observer = observer
        server = Server(_application(observer, _credentials(settings)), limits, tls=_tls(settings), stop_s=_STOP_S)
        try:
            listening = listen(settings.host, settings.port)
        except OSError as error:
            raise SetUpError(
                f"cannot serve metrics on {settings.host} port {settings.port} ({error.strerror}): "
                "stop the program that uses this port, or set metrics.port (0 takes a free port) or metrics.host"
            ) from error
        self.port: int = listening.getsockname()[1]
        self._background = Background(server, listening, "exporter")

    def close(self) -> None:
        """Stops listening."""
        self._background.close()


def _tls(settings: MetricsSettings) -> ssl.SSLContext | None:
    if settings.certificate is None or settings.key is None:
        return None
    try:
        return tls_context(settings.certificate, settings.key)
    except OSError as error:
        raise SetUpError(
            f"metrics.certificate {settings.certificate} and metrics.key {settings.key} cannot be used: {error}"
        ) from error


def _application(observer: Observer, credentials: bytes | None) -> Starlette:
    """Returns the application. `/metrics` needs `credentials` as its Authorization header, unless they are None."""
    exposition = Exposition(observer.registry)

    async def metrics(request: Request) -> Response:
        header = request.headers.get("authorization", "").encode("latin-1")
        if credentials is None or hmac.compare_digest(header, credentials):  # in constant time
            return await exposition.answer(request)
        headers = {"WWW-Authenticate": 'Basic realm="tidemark", charset="UTF-8"'}
        return PlainTextResponse("Wrong user name or password.\n", HTTPStatus.UNAUTHORIZED, headers)

    async def healthz(_: Request) -> Response:
        response = _response(observer.healthy())
        response.headers[WAREHOUSE_ID] = observer.warehouse_id
        return response

    async def readyz(_: Request) -> Response:
        return _response(await asyncio.to_thread(observer.ready))  # it may wait for a broker

    async def not_found(_: Request, __: Exception) -> Response:
        return PlainTextResponse("There is /metrics, /healthz and /readyz.\n", HTTPStatus.NOT_FOUND)

    routes = [Route("/metrics", metrics), Route("/healthz", healthz), Route("/readyz", readyz)]
    return Starlette(routes=routes, exception_handlers={HTTPStatus.NOT_FOUND: not_found})


def _response(answer: ProbeAnswer) -> Response:
    status = HTTPStatus.OK if answer.ok else HTTPStatus.SERVICE_UNAVAILABLE
    return PlainTextResponse(f"{answer.sentence}\n", status)


def _credentials(settings: MetricsSettings) -> bytes | None:
    """Returns the Authorization header with the user name and password; None if no password is set."""
    with raising_set_up_errors():
        password = clear_text(settings.password, settings.password_file, "metrics.password")
    credentials = f"{settings.username}:{password}".encode()
    return None if password is None else b"Basic " + base64.b64encode(credentials)
