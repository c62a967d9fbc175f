"""`tidemark sql-server`: serves the views to clients of PostgreSQL."""

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Lock, Thread, Timer
from typing import Final

import structlog

from tidemark.http_server.limits import expendable
from tidemark.http_server.metrics_server import serve_registry
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.logs import configure_logs
from tidemark.pipeline.sql_server.client import Client
from tidemark.pipeline.sql_server.database import Database
from tidemark.pipeline.sql_server.login import Access, Arrival, Ticket, log_in
from tidemark.pipeline.sql_server.sql_metrics import SqlMetrics
from tidemark.pipeline.sql_server.wire import Refused, Wire

_MOST_CLIENTS: Final = 64
_LOGIN_S: Final = 10.0
"""Deadline of the log-in, from the connection on."""
_WATCH_S: Final = 0.5
_log = structlog.get_logger()


def serve_sql(
    warehouse: str, address: tuple[str, int], memory: str, access: Access, metrics: tuple[str, int] | None
) -> None:
    """Serves until SIGTERM or SIGINT; queries together take at most `memory`, such as `2g`.

    `metrics` is the address of the metrics. Raises SetUpError if there is no warehouse, or an address is not available.
    """
    configure_logs()
    stop = Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, lambda *_: stop.set())
    access.require_for(address[0])
    server = Server(Database(warehouse, memory), access)
    with _listen(*address) as listener:
        if metrics:
            _serve_metrics(server.metrics, *metrics)
        _log.info("sql_server_listening", url="postgresql://{}:{}".format(*listener.getsockname()[:2]))
        server.accept(listener, stop)


@dataclass(eq=False, slots=True)
class Connection:
    """A connection with a client."""

    socket: socket.socket
    address: str
    waits_for_client: bool = True
    """Whether the client has not logged in."""

    def cut_off(self) -> None:
        """Ends the connection, whatever its thread waits for."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)


class Server:
    """The clients that are connected."""

    def __init__(self, database: Database, access: Access) -> None:
        self._database, self._access = database, access
        self._open: dict[Connection, None] = {}  # oldest first
        self._opening = Lock()
        self._clients: dict[Ticket, Client] = {}
        self.metrics = SqlMetrics(lambda: len(self._open))

    def accept(self, listener: socket.socket, stop: Event) -> None:
        """Accepts connections until `stop`, each in a daemon thread."""
        listener.settimeout(_WATCH_S)
        while not stop.is_set():
            with suppress(TimeoutError):
                accepted, address = listener.accept()
                accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                connection = Connection(accepted, address[0])
                if self._admits(connection):
                    Thread(target=self._serve, args=(connection,), name="sql-client", daemon=True).start()
                else:
                    accepted.close()

    def _admits(self, connection: Connection) -> bool:
        """At the limit, ends a connection that has not logged in; returns False if all clients have."""
        with self._opening:
            if len(self._open) >= _MOST_CLIENTS:
                ended = expendable([*self._open])
                if ended is None:
                    return False
                del self._open[ended]
                ended.cut_off()
            self._open[connection] = None
            return True

    def _serve(self, connection: Connection) -> None:
        try:
            with connection.socket, suppress(OSError):
                self._talk(connection)
        finally:
            with self._opening:
                self._open.pop(connection, None)

    def _talk(self, connection: Connection) -> None:
        wire, ticket = Wire(connection.socket, bytearray()), Ticket.new()
        try:
            with _cut_off_after(_LOGIN_S, connection):
                arrival = log_in(wire, self._access, ticket)
            connection.waits_for_client = False
            if arrival and arrival.ticket == ticket:
                self._answer(wire, arrival)
            elif arrival and arrival.ticket in self._clients:
                self._clients[arrival.ticket].interrupt()
        except Refused as error:
            wire.send_error(error.code, str(error), "FATAL")
            wire.flush()
        finally:
            wire.connection.close()

    def _answer(self, wire: Wire, arrival: Arrival) -> None:
        client = self._clients[arrival.ticket] = Client(wire, self._database, arrival.settings, self.metrics)
        try:
            client.serve()
        finally:
            del self._clients[arrival.ticket]


@contextmanager
def _cut_off_after(seconds: float, connection: Connection) -> Iterator[None]:
    """Ends the connection unless the block is left within `seconds`, whatever the client sends meanwhile."""
    timer = Timer(seconds, connection.cut_off)
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


def _serve_metrics(metrics: SqlMetrics, host: str, port: int) -> None:
    """Serves until the process ends. Raises SetUpError if the address is not available."""
    try:
        serve_registry(metrics.registry, host, port)
    except OSError as error:
        raise SetUpError(
            f"cannot serve metrics at {host}:{port}: {error.strerror}; choose another --metrics-port"
        ) from error
