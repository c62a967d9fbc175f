"""Serves the dashboard as a process."""

import signal
import socket
from collections.abc import Callable
from functools import partial
from typing import Final

import structlog
from starlette.types import ASGIApp

from tidemark.http_server.limits import Limits
from tidemark.http_server.listening import listen
from tidemark.http_server.server import Server
from tidemark.pipeline.decoding.record_decoding import SchemaTexts
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.logs import configure_logs
from tidemark.pipeline.reading.health_client import service_health
from tidemark.pipeline.reading.table_reader import TableReader
from tidemark.pipeline.settings.dashboard_settings import DashboardSettings
from tidemark.pipeline.settings.load import require
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.event_schemas import schemas_of, stored_schemas
from tidemark.pipeline.web.dashboard.dashboard_access import Guard
from tidemark.pipeline.web.dashboard.dashboard_site import site

_STOP_S: Final = 3
_LIMITS: Final = Limits(connections=128, request_s=30)
_log = structlog.get_logger()


def serve(settings: Settings) -> None:
    """Serves until SIGTERM or SIGINT.

    Raises SetUpError if the address is not available, other machines could reach it without a token, or the schemas
    are unreadable.
    """
    require(settings, "warehouse")
    schemas, guard = _schemas(settings), Guard.from_settings(settings.dashboard)
    health = partial(service_health, settings.metrics, settings.warehouse)
    app = site(TableReader(settings.warehouse), guard, schemas, health, panels=settings.dashboard.panels)
    configure_logs(settings.log_format)
    with _listening(settings.dashboard) as listener:
        # uvicorn raises its signal again at the end, which would kill the process.
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signal_number, lambda *_: None)
        host, port = listener.getsockname()[:2]
        _log.info("dashboard_listening", url=f"http://{f'[{host}]' if ':' in host else host}:{port}/")
        page_server(app).run(sockets=[listener])


def page_server(app: ASGIApp) -> Server:
    """Returns the server. It logs no requests, because their addresses contain user ids."""
    return Server(app, _LIMITS, stop_s=_STOP_S)


def _schemas(settings: Settings) -> Callable[[], SchemaTexts]:
    """Returns a reader of the schemas: a folder is read once, those cached from a registry each time."""
    if settings.schemas.registry.url:
        return partial(stored_schemas, settings.warehouse)
    texts = schemas_of(settings).texts
    return lambda: texts


def _listening(settings: DashboardSettings) -> socket.socket:
    host, port = settings.host, settings.port
    try:
        return listen(host, port)
    except OSError as error:
        raise SetUpError(
            f"cannot listen on {host}:{port}: {error.strerror}. Set dashboard.host or dashboard.port"
        ) from error
