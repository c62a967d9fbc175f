"""A connection that is ended when its time is up, whatever its client does meanwhile."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from http_server.limits import Limits


class Connection(H11Protocol):
    """uvicorn's protocol, which has no deadline for headers, bodies and clients that do not read."""

    def __init__(self, limits: Limits, address: str, on_end: Callable[["Connection"], None], **uvicorns: Any) -> None:
        super().__init__(**uvicorns)
        self.address = address
        self.handshake: asyncio.Task[None] | None = None
        """What opens the connection; with TLS that takes as long as the client wants."""
        self._limits, self._on_end = limits, on_end
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def waits_for_client(self) -> bool:
        """Whether a handshake, a header or a body is incomplete, the client does not read, or has asked nothing."""
        cycle = cast("RequestResponseCycle | None", self.cycle)  # it is None before the first request
        return cycle is None or cycle.response_complete or cycle.more_body or self.flow.write_paused

    def abort(self) -> None:
        """Ends the connection at once; what was not sent yet is dropped."""
        if self.transport is not None:
            self.transport.abort()
        elif self.handshake is not None:
            self.handshake.cancel()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Starts the time for the first header."""
        super().connection_made(transport)
        self._allow(self._limits.header_s)

    def handle_events(self) -> None:
        """Starts the time for a request whose header has come."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before and not self.cycle.response_complete:
            self._allow(self._limits.request_s)

    def on_response_complete(self) -> None:
        """Starts the time for the next header."""
        self._allow(self._limits.header_s)
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the time, and says so."""
        self._on_end(self)
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _allow(self, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, self.abort)
