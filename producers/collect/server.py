"""The server: where it listens, whom it believes, and how it ends."""

import math
import socket
from collections.abc import Sequence

import uvicorn
from starlette.applications import Starlette

from producers.errors import SetupError
from producers.signals import stop_on_signals


def listener(host: str, port: int) -> socket.socket:
    """A socket that listens, on any free port for 0. Raises SetupError if the address cannot be had."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        why = str(error.strerror).partition(" (while")[0]  # Python tells the address again
        raise SetupError(
            f"cannot listen on {host} port {port} ({why}): stop what listens there, or correct --port or --host"
        ) from error


def server(app: Starlette, proxies: Sequence[str], patience_ms: int) -> uvicorn.Server:
    """Believes X-Forwarded-For of `proxies` only; told to stop, it answers what has been asked first."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            lifespan="on",
            log_level="error",
            access_log=False,  # addresses are nobody's to keep
            server_header=False,
            proxy_headers=bool(proxies),
            forwarded_allow_ips=list(proxies),
            timeout_graceful_shutdown=math.ceil(patience_ms / 1000) + 1,
        )
    )


def serve(listening: socket.socket, serving: uvicorn.Server) -> None:
    """Serves until a signal, after which this process goes on."""
    # uvicorn raises the signal again when it has ended.
    with stop_on_signals():
        serving.run(sockets=[listening])
