"""The server: where it listens, whom it believes, and how it ends."""

import math
import socket
from collections.abc import Sequence
from typing import Final

from starlette.applications import Starlette

from http_server.limits import Limits
from http_server.listening import listen
from http_server.server import Server
from producers.errors import SetupError
from producers.signals import stop_on_signals

LIMITS: Final = Limits(connections=512)


def listener(host: str, port: int) -> socket.socket:
    """A socket that listens, on any free port for 0. Raises SetupError if the address cannot be had."""
    try:
        return listen(host, port)
    except OSError as error:
        why = str(error.strerror).partition(" (while")[0]  # Python names the address again
        raise SetupError(
            f"cannot listen on {host} port {port} ({why}): stop what listens there, or correct --port or --host"
        ) from error


def server(app: Starlette, proxies: Sequence[str], patience_ms: int) -> Server:
    """Believes X-Forwarded-For of `proxies` only; told to stop, it answers what has been asked first."""
    return Server(app, LIMITS, proxies=proxies, lifespan="on", stop_s=math.ceil(patience_ms / 1000) + 1)


def serve(listening: socket.socket, serving: Server) -> None:
    """Serves until a signal, after which this process goes on."""
    # uvicorn raises the signal again when it has ended.
    with stop_on_signals():
        serving.run(sockets=[listening])
