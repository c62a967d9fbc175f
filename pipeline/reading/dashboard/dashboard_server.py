"""`tidemark dashboard` as a process."""

import signal
import socket
from collections.abc import Callable
from functools import partial
from typing import Final

import structlog
from starlette.types import ASGIApp

from http_server.limits import Limits
from http_server.listening import listen
from http_server.server import Server
from pipeline.errors import SetUpError
from pipeline.logs import configure_logs
from pipeline.reading.dashboard.dashboard_access import Guard
from pipeline.reading.dashboard.dashboard_site import site
from pipeline.reading.dashboard.shared_answer import SharedAnswer
from pipeline.reading.health_client import service_health
from pipeline.reading.pages.table_reader import TableReader
from pipeline.reading.record_decoding import SchemaTexts
from pipeline.settings.load import require
from pipeline.settings.model import DashboardSettings, Settings
from pipeline.tables.event_schemas import schemas_of, stored_schemas

_STOP_S: Final = 3
_LIMITS: Final = Limits(connections=128, request_s=300)
"""A page may take long where the store is slow."""
_SHARED_S: Final = 5.0
"""Requests share an answer of the service for this many seconds."""
_log = structlog.get_logger()


def serve(settings: Settings) -> None:
    """Serves until SIGTERM or SIGINT.

    Raises SetUpError where the address cannot be had, other machines would reach it without a token, or the schemas
    cannot be read.
    """
    require(settings, "warehouse")
    schemas, guard = _schemas(settings), Guard.from_settings(settings.dashboard)
    health = SharedAnswer(partial(service_health, settings.metrics), _SHARED_S)
    app = site(TableReader(settings.warehouse), guard, schemas, health.get)
    configure_logs(settings.log_format)
    with _listening(settings.dashboard) as listener:
        # uvicorn raises again what ended it, which would end the process by a signal.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        host, port = listener.getsockname()[:2]
        _log.info("dashboard_listening", url=f"http://{f'[{host}]' if ':' in host else host}:{port}/")
        served(app).run(sockets=[listener])


def served(app: ASGIApp) -> Server:
    """The server of the pages. It writes no line for a request: addresses name users."""
    return Server(app, _LIMITS, stop_s=_STOP_S)


def _schemas(settings: Settings) -> Callable[[], SchemaTexts]:
    """Those of a folder, read once; what a registry told may be more by now."""
    if settings.schemas.registry.url:
        return partial(stored_schemas, settings.warehouse)
    texts = schemas_of(settings).texts
    return lambda: texts


def _listening(settings: DashboardSettings) -> socket.socket:
    host, port = settings.host, settings.port
    try:
        return listen(host, port)
    except OSError as error:
        why = str(error.strerror).partition(" (while")[0]  # Python names the address again
        raise SetUpError(f"cannot listen on {host}:{port}: {why}. Correct dashboard.host or dashboard.port") from error
