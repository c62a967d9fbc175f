"""`tidemark dashboard` as a process."""

import signal
import socket
from collections.abc import Callable
from functools import partial
from typing import Final

import structlog
import uvicorn

from pipeline.commands.dashboard.access import Guard
from pipeline.commands.dashboard.shared import Shared
from pipeline.commands.dashboard.site import site
from pipeline.commands.decoded import Schemas
from pipeline.commands.page import said_by_service
from pipeline.commands.pages.tables import Reader
from pipeline.errors import SetUpError
from pipeline.logs import configure_logs
from pipeline.settings.load import require
from pipeline.settings.model import DashboardSettings, Settings
from pipeline.tables.event_schemas import kept_schemas, schemas_of

_STOP_S: Final = 3
_KEPT_S: Final = 5.0
"""So long the service's word counts."""
_log = structlog.get_logger()


def serve(settings: Settings) -> None:
    """Serves until SIGTERM or SIGINT.

    Raises SetUpError where the address cannot be had, other machines would reach it without a token, or the schemas
    cannot be read.
    """
    require(settings, "warehouse")
    schemas, guard = _schemas(settings), Guard.of(settings.dashboard)
    app = site(Reader(settings.warehouse), guard, schemas, Shared(partial(said_by_service, settings.metrics), _KEPT_S))
    configure_logs(settings.log_format)
    with _listening(settings.dashboard) as listener:
        # uvicorn raises again what ended it, which would end the process by a signal.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        host, port = listener.getsockname()[:2]
        _log.info("the dashboard is open", url=f"http://{f'[{host}]' if ':' in host else host}:{port}/")
        # No line for each request: addresses name users.
        config = uvicorn.Config(
            app, access_log=False, log_config=None, server_header=False, timeout_graceful_shutdown=_STOP_S
        )
        uvicorn.Server(config).run(sockets=[listener])


def _schemas(settings: Settings) -> Callable[[], Schemas]:
    """Those of a folder, read once; what a registry told may be more by now."""
    if settings.schemas.registry.url:
        return partial(kept_schemas, settings.warehouse)
    texts = schemas_of(settings).texts
    return lambda: texts


def _listening(settings: DashboardSettings) -> socket.socket:
    host, port = settings.host, settings.port
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise SetUpError(
            f"cannot listen on {host}:{port}: {error.strerror}. Correct dashboard.host or dashboard.port"
        ) from error
