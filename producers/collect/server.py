"""The server: its address, its trusted proxies, and its shutdown."""

import math
import socket
from collections.abc import Sequence
from typing import Final

from starlette.applications import Starlette

from tidemark.http_server.limits import Limits
from tidemark.http_server.listening import listen
from tidemark.http_server.server import Server
from tidemark.producers.errors import SetUpError
from tidemark.producers.signals import stop_on_signals

LIMITS: Final = Limits(connections=512)


def listener(host: str, port: int) -> socket.socket:
    """Returns a listening socket; `port` 0 is any free port. Raises SetUpError if the address is not available."""
    try:
        return listen(host, port)
    except OSError as error:
        raise SetUpError(
            f"cannot listen on {host} port {port} ({error.strerror}): stop what listens on it, or correct --port or "
            "--host"
        ) from error


def server(app: Starlette, proxies: Sequence[str], patience_ms: int) -> Server:
    """Returns a server that trusts X-Forwarded-For of `proxies` only.

    On shutdown it finishes pending requests, for `patience_ms` plus a second at most.
    """
    return Server(app, LIMITS, proxies=proxies, lifespan="on", stop_s=math.ceil(patience_ms / 1000) + 1)


def serve(listening: socket.socket, serving: Server) -> None:
    """Serves until a signal, and then returns."""
    # uvicorn raises the signal again after its shutdown.
    with stop_on_signals():
        serving.run(sockets=[listening])
