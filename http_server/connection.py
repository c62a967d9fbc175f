"""A connection with deadlines that a client cannot extend."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from tidemark.http_server.limits import Limits


class Connection(H11Protocol):
    """uvicorn's protocol with deadlines for headers, bodies and clients that do not read."""

    def __init__(
        self, limits: Limits, address: str, on_end: Callable[["Connection"], None], **uvicorn_options: Any
    ) -> None:
        super().__init__(**uvicorn_options)
        self.address = address
        self.handshake: asyncio.Task[None] | None = None
        """The task that opens the connection; with TLS the client decides how long it takes."""
        self._limits, self._on_end = limits, on_end
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def waits_for_client(self) -> bool:
        """Whether the handshake, header or body is incomplete, or the client is idle or does not read."""
        cycle = cast("RequestResponseCycle | None", self.cycle)  # it is None before the first request
        return cycle is None or cycle.response_complete or cycle.more_body or self.flow.write_paused

    def abort(self) -> None:
        """Ends the connection at once, and drops unsent bytes."""
        if self.transport is not None:
            self.transport.abort()
        elif self.handshake is not None:
            self.handshake.cancel()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Sets the deadline of the first header."""
        super().connection_made(transport)
        self._set_deadline(self._limits.header_s)

    def handle_events(self) -> None:
        """Sets the deadline of a request once its header is complete."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before and not self.cycle.response_complete:
            self._set_deadline(self._limits.request_s)

    def on_response_complete(self) -> None:
        """Sets the deadline of the next header, unless the client has yet to read much of the answer."""
        if not self.flow.write_paused:
            self._set_deadline(self._limits.header_s)
        super().on_response_complete()

    def resume_writing(self) -> None:
        """Sets the deadline of the next header if the client has read most of a complete answer."""
        super().resume_writing()
        if self.cycle.response_complete:  # what is written is an answer, so there is a cycle
            self._set_deadline(self._limits.header_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancels the deadline, and calls `on_end`."""
        self._on_end(self)
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _set_deadline(self, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, self.abort)
