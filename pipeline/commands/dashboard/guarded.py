"""The site behind its guard, with headers by which a browser does no more than the page needs."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline.commands.dashboard.access import Guard

_OPEN: Final = ("/healthz", "/login", "/static/")
"""What nobody is asked a token for."""
_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Guarded:
    """An application in front of another one."""

    def __init__(self, site: ASGIApp, guard: Guard, ask: Callable[[], Response]) -> None:
        """`ask` makes the page that asks for the token."""
        self._site = site
        self._guard = guard
        self._ask = ask

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            await self._site(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self._answer(Request(scope))(scope, receive, sent)

    def _answer(self, request: Request) -> ASGIApp:
        if self._guard.admits(request) or (self._guard.asks and request.url.path.startswith(_OPEN)):
            return self._site
        if self._guard.asks:
            return self._ask()
        return PlainTextResponse(
            "Without a token this page answers to 127.0.0.1, [::1] and localhost only; see dashboard.token.\n",
            HTTPStatus.FORBIDDEN,
        )
