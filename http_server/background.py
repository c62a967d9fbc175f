"""Runs a server in a background thread."""

import socket
from threading import Thread

from tidemark.http_server.server import Server


class Background:
    """Serves on a socket that listens, until it is closed."""

    def __init__(self, server: Server, listening: socket.socket, name: str) -> None:
        """Starts a daemon thread of this name."""
        self._server = server
        self._thread = Thread(target=server.run, args=([listening],), name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stops listening, and waits for requests that are being answered."""
        self._server.should_exit = True
        self._thread.join()
