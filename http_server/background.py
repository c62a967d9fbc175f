"""A server in a thread of its own, for a process that has something else to do."""

import socket
from threading import Thread

from http_server.server import Server


class Background:
    """Serves on a socket that listens, until it is closed."""

    def __init__(self, server: Server, listening: socket.socket, name: str) -> None:
        """Starts a thread of this name, which does not hold up the end of the process."""
        self._server = server
        self._thread = Thread(target=server.run, args=([listening],), name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stops listening, and waits for what is being answered."""
        self._server.should_exit = True
        self._thread.join()
