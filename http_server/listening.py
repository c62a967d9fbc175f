"""Opens the socket of a server."""

import socket
from typing import Final

_BACKLOG: Final = 2048
"""Connections that may wait to be accepted. The client's system retries others after a second."""


def listen(host: str, port: int) -> socket.socket:
    """Returns a socket that listens, on any free port for 0. Raises OSError if the address cannot be had."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]  # IPv4 or IPv6
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        reason = str(error.strerror).partition(" (while")[0]  # Python repeats the address
        raise OSError(error.errno, reason) from error
