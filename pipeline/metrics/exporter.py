"""The HTTP endpoint: `/metrics`, which TLS, a name and a password may guard, `/healthz` and `/readyz`."""

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

from http_server.background import Background
from http_server.exposition import Exposition
from http_server.limits import Limits
from http_server.listening import listen
from http_server.server import Server
from kafka_access.secrets import clear_text
from pipeline.errors import SetUpError
from pipeline.metrics.observer import Observer
from pipeline.metrics.probes import ProbeAnswer
from pipeline.settings.model import MetricsSettings
from pipeline.settings.secrets import raising_set_up_errors

LIMITS: Final = Limits(connections=64, request_s=30)
"""Few clients read metrics, and the process needs its file descriptors for the tables."""
_STOP_S: Final = 1


class Exporter:
    """Serves an observer's answers from a thread of its own until it is closed."""

    def __init__(self, observer: Observer, settings: MetricsSettings) -> None:
        """Listens. Raises SetUpError if the address cannot be had, or a secret or certificate cannot be used."""
        self.observer = observer
        server = Server(_application(observer, _admitted(settings)), LIMITS, tls=_tls(settings), stop_s=_STOP_S)
        try:
            listening = listen(settings.host, settings.port)
        except OSError as error:
            why = str(error.strerror).partition(" (while")[0]  # Python names the address again
            raise SetUpError(
                f"cannot serve metrics on {settings.host} port {settings.port} ({why}): "
                "stop what listens there, or set metrics.port (0 takes a free one) or metrics.host"
            ) from error
        self.port: int = listening.getsockname()[1]
        self._background = Background(server, listening, "exporter")

    def close(self) -> None:
        """Stops listening."""
        self._background.close()


def _application(observer: Observer, admitted: bytes | None) -> Starlette:
    """The paths; `/metrics` only for requests with the header `admitted`, if there is one."""
    exposition = Exposition(observer.registry)

    async def metrics(request: Request) -> Response:
        told = request.headers.get("authorization", "").encode("latin-1")
        if admitted is None or hmac.compare_digest(told, admitted):  # as long for any wrong one
            return await exposition.answer(request)
        headers = {"WWW-Authenticate": 'Basic realm="tidemark", charset="UTF-8"'}
        return PlainTextResponse("Wrong name or password.\n", HTTPStatus.UNAUTHORIZED, headers)

    async def healthz(_: Request) -> Response:
        return _said(observer.healthy())

    async def readyz(_: Request) -> Response:
        return _said(await asyncio.to_thread(observer.ready))  # which may ask a broker

    async def nothing(_: Request, __: Exception) -> Response:
        return PlainTextResponse("There is /metrics, /healthz and /readyz.\n", HTTPStatus.NOT_FOUND)

    routes = [Route("/metrics", metrics), Route("/healthz", healthz), Route("/readyz", readyz)]
    return Starlette(routes=routes, exception_handlers={HTTPStatus.NOT_FOUND: nothing})


def _said(answer: ProbeAnswer) -> Response:
    status = HTTPStatus.OK if answer.ok else HTTPStatus.SERVICE_UNAVAILABLE
    return PlainTextResponse(f"{answer.sentence}\n", status)


def _admitted(settings: MetricsSettings) -> bytes | None:
    """The header of who knows the name and the password; None where none is set, for everyone."""
    with raising_set_up_errors():
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
