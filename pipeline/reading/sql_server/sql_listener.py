"""`tidemark sql-server`: serves the views to clients of PostgreSQL."""

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import BoundedSemaphore, Event, Thread, Timer
from typing import Final

import duckdb
import structlog

from pipeline.errors import SetUpError
from pipeline.reading.sql_server.client import Client
from pipeline.reading.sql_server.database import Database
from pipeline.reading.sql_server.login import Access, Ticket, log_in
from pipeline.reading.sql_server.wire import Refused, Wire

_MOST_CLIENTS: Final = 64
_LOGIN_S: Final = 10.0
"""Deadline of the log-in, from the connection on."""
_WATCH_S: Final = 0.5
_log = structlog.get_logger()


def serve_sql(warehouse: str, address: tuple[str, int], memory: str, access: Access) -> None:
    """Serves until SIGTERM or SIGINT; queries together take at most `memory`, such as `2g`.

    Raises SetUpError if there is no warehouse, or the address is not available.
    """
    stop = Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, lambda *_: stop.set())
    access.require_for(address[0])
    server = Server(Database(warehouse, memory), access)
    with _listen(*address) as listener:
        _log.info("sql_server_listening", url="postgresql://{}:{}".format(*listener.getsockname()[:2]))
        server.accept(listener, stop)


class Server:
    """The clients that are connected."""

    def __init__(self, database: Database, access: Access) -> None:
        self._database, self._access = database, access
        self._slots = BoundedSemaphore(_MOST_CLIENTS)
        self._cursors: dict[Ticket, duckdb.DuckDBPyConnection] = {}

    def accept(self, listener: socket.socket, stop: Event) -> None:
        """Accepts connections until `stop`, each in a daemon thread; closes those beyond the limit."""
        listener.settimeout(_WATCH_S)
        while not stop.is_set():
            with suppress(TimeoutError):
                connection, _ = listener.accept()
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                if self._slots.acquire(blocking=False):
                    Thread(target=self._serve, args=(connection,), name="sql-client", daemon=True).start()
                else:
                    connection.close()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(OSError):
                self._talk(Wire(connection, bytearray()))
        finally:
            self._slots.release()

    def _talk(self, wire: Wire) -> None:
        ticket = Ticket.new()
        try:
            with _cut_off_after(_LOGIN_S, wire.connection):
                claimed = log_in(wire, self._access, ticket)
            if claimed == ticket:
                self._answer(wire, ticket)
            elif claimed in self._cursors:
                self._cursors[claimed].interrupt()
        except Refused as error:
            wire.send_error(error.code, str(error), "FATAL")
            wire.flush()

    def _answer(self, wire: Wire, ticket: Ticket) -> None:
        with self._database.cursor() as cursor:
            self._cursors[ticket] = cursor
            try:
                Client(wire, self._database, cursor).serve()
            finally:
                del self._cursors[ticket]


@contextmanager
def _cut_off_after(seconds: float, connection: socket.socket) -> Iterator[None]:
    """Ends the connection unless the block is left within `seconds`, whatever the client sends meanwhile."""

    def cut_off() -> None:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    timer = Timer(seconds, cut_off)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _listen(host: str, port: int) -> socket.socket:
    """Opens the socket. Raises SetUpError if the address is not available."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=_MOST_CLIENTS)
    except OSError as error:
        raise SetUpError(
            f"cannot listen on {host}:{port}: {error.strerror}. Name another with --host and --port"
        ) from error
