"""uvicorn with an accept loop that enforces limits on each client and on all clients together."""

import asyncio
import logging
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Literal

import uvicorn
from starlette.types import ASGIApp

from tidemark.http_server.connection import Connection
from tidemark.http_server.limits import Limits, expendable
from tidemark.http_server.log_rate_limit import LogRateLimit

_PAUSE_S: Final = 0.1
"""Pause before the next accept when the system has no file descriptor left."""
_log = logging.getLogger("http_server")
_RATE_LIMIT: Final = LogRateLimit()


class Server(uvicorn.Server):
    """Serves an application on sockets that listen already, which it closes at its end."""

    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        *,
        tls: ssl.SSLContext | None = None,
        proxies: Sequence[str] = (),
        lifespan: Literal["on", "off"] = "off",
        stop_s: int = 3,
    ) -> None:
        """Trusts X-Forwarded-For of `proxies` only. At shutdown, open requests get `stop_s` seconds."""
        super().__init__(
            uvicorn.Config(
                app,
                lifespan=lifespan,
                ws="none",
                log_config=None,
                log_level="error",
                access_log=False,  # addresses identify users, and must not be stored
                server_header=False,
                proxy_headers=bool(proxies),
                forwarded_allow_ips=list(proxies),
                timeout_graceful_shutdown=stop_s,
            )
        )
        self._limits, self._tls = limits, tls
        self._open: dict[Connection, None] = {}  # oldest first
        self._accepting: list[asyncio.Task[None]] = []
        for name in ("asyncio", "uvicorn.error", _log.name):
            logging.getLogger(name).addFilter(_RATE_LIMIT)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts the application, then accepts connections."""
        await super().startup(sockets=[])
        self._accepting = [asyncio.create_task(self._accept(listening)) for listening in sockets or []]

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stops accepting, answers open requests, and stops the application."""
        for accepting in self._accepting:
            accepting.cancel()
        for connection in list(self._open):
            if connection.transport is None:
                connection.abort()
        await super().shutdown(sockets)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        listening.settimeout(0)
        while True:
            try:
                accepted, address = await loop.sock_accept(listening)
            except OSError as error:  # the client has disconnected, or the system has no file descriptor left
                _log.error("cannot_accept_connection reason=%s", error.strerror)
                await asyncio.sleep(_PAUSE_S)
                continue
            self._admit(accepted, address[0])
            await asyncio.sleep(0)  # so that a flood does not starve open connections

    def _admit(self, accepted: socket.socket, address: str) -> None:
        if len(self._open) >= self._limits.connections:
            ended = expendable(list(self._open))
            if ended is None:
                accepted.close()
                return
            self._forget(ended)
            ended.abort()
        connection = Connection(
            self._limits,
            address,
            self._forget,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )
        self._open[connection] = None
        connection.handshake = asyncio.create_task(self._begin(connection, accepted))
        connection.handshake.add_done_callback(partial(self._begun, connection, accepted))

    async def _begin(self, connection: Connection, accepted: socket.socket) -> None:
        patience = self._limits.header_s if self._tls else None
        begin = asyncio.get_running_loop().connect_accepted_socket
        with suppress(OSError):  # the client has disconnected, or does not use TLS
            await begin(lambda: connection, accepted, ssl=self._tls, ssl_handshake_timeout=patience)

    def _begun(self, connection: Connection, accepted: socket.socket, _: asyncio.Task[None]) -> None:
        """Closes a connection whose handshake failed."""
        if connection.transport is None:
            accepted.close()
            self._forget(connection)

    def _forget(self, connection: Connection) -> None:
        self._open.pop(connection, None)
