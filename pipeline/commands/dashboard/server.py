"""`tidemark dashboard` as a process."""

import signal
import socket
from typing import Final

import structlog
import uvicorn

from pipeline.commands.dashboard.access import Guard
from pipeline.commands.dashboard.service import Service
from pipeline.commands.dashboard.site import site
from pipeline.commands.pages.reader import Reader
from pipeline.errors import SetUpError
from pipeline.logs import configure_logs
from pipeline.settings.load import require
from pipeline.settings.model import DashboardSettings, Settings
from pipeline.tables.event_schemas import schemas_of

_STOP_S: Final = 3
_log = structlog.get_logger()


def serve(settings: Settings) -> None:
    """Serves until SIGTERM or SIGINT.

    Raises SetUpError where the address cannot be had, other machines would reach it without a token, or the schemas
    cannot be read.
    """
    require(settings, "warehouse")
    if not settings.schemas.registry.url:
        schemas_of(settings)
    guard = Guard.of(settings.dashboard)
    app = site(Reader(settings.warehouse), guard, lambda: schemas_of(settings).texts, Service(settings.metrics))
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


def _listening(settings: DashboardSettings) -> socket.socket:
    host, port = settings.host, settings.port
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise SetUpError(
            f"cannot listen on {host}:{port}: {error.strerror}. Correct dashboard.host or dashboard.port"
        ) from error
