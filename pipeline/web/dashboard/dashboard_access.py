"""Access to the dashboard: with a token, or without one from this machine only."""

import hashlib
import hmac
import ipaddress
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, Self

from pydantic import SecretStr
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidemark.command_line.counts import counted
from tidemark.kafka_access.secrets import clear_text
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.settings.dashboard_settings import DashboardSettings
from tidemark.pipeline.settings.secrets import raising_set_up_errors

COOKIE: Final = "tidemark_dashboard"
_SHORTEST: Final = 16
_LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "::1")
_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Guard:
    """Admits requests with the token; without a token only requests whose host is a local name.

    A foreign site could let its own name point at this machine, and have a local browser read the page by that name
    (DNS rebinding). Therefore the host of a request must be local.
    """

    def __init__(self, token: SecretStr | None) -> None:
        self._token = token

    @classmethod
    def from_settings(cls, settings: DashboardSettings) -> Self:
        """Returns the guard. Raises SetUpError if the token is short or missing, or its file is unreadable."""
        with raising_set_up_errors():
            token = clear_text(settings.token, settings.token_file, "dashboard.token")
        if token is None and not _is_loopback(settings.host):
            raise SetUpError(
                f"dashboard.host {settings.host} is reached from other machines, and the page shows user activity: set "
                "TIDEMARK_DASHBOARD__TOKEN or dashboard.token_file, or listen on 127.0.0.1"
            )
        if token is not None and len(token) < _SHORTEST:
            raise SetUpError(
                f"dashboard.token has {counted(len(token), 'character')}: use at least {_SHORTEST}, chosen at random"
            )
        return cls(None if token is None else SecretStr(token))

    @property
    def has_token(self) -> bool:
        """Whether a token is configured."""
        return self._token is not None

    def admits(self, request: Request) -> bool:
        """Tests whether a request is admitted."""
        if self._token is None:
            return _host(request.headers.get("host", "")) in _LOCAL_NAMES
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        has_token = scheme.lower() == "bearer" and self.is_token(bearer)
        return has_token or _same(request.cookies.get(COOKIE, ""), self.cookie_value)

    def is_token(self, token: str) -> bool:
        """Tests whether `token` is the configured one, in constant time."""
        return self._token is not None and _same(token, self._token.get_secret_value())

    @property
    def cookie_value(self) -> str:
        """Value of the cookie, a hash of the token."""
        assert self._token is not None  # noqa: S101 - for the type checker
        return hashlib.sha256(b"tidemark dashboard\0" + self._token.get_secret_value().encode()).hexdigest()


class GuardedSite:
    """The site, which the guard protects, with headers that restrict browsers to what the pages need."""

    def __init__(
        self, site: ASGIApp, guard: Guard, login_form: Callable[[], Response], open_paths: frozenset[str]
    ) -> None:
        """`login_form` returns the page that asks for the token; requests for `open_paths` need no token."""
        self._site = site
        self._open_paths = open_paths
        self._guard = guard
        self._login_form = login_form

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            await self._site(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self._answer(Request(scope))(scope, receive, send_with_headers)

    def _answer(self, request: Request) -> ASGIApp:
        # The path that the site routes by; `request.url` also depends on the header Host.
        if self._guard.admits(request) or (self._guard.has_token and request.scope["path"] in self._open_paths):
            return self._site
        if self._guard.has_token:
            return self._login_form()
        return PlainTextResponse(
            "Without a token this page is available at 127.0.0.1, [::1] and localhost only; see dashboard.token.\n",
            HTTPStatus.FORBIDDEN,
        )


def _is_loopback(host: str) -> bool:
    if host in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host(header: str) -> str:
    """Returns the host of a request without its port, in lower case."""
    name = header[1:].partition("]")[0] if header.startswith("[") else header.partition(":")[0]
    return name.lower()


def _same(text: str, other: str) -> bool:
    """Compares in constant time."""
    return hmac.compare_digest(text.encode(), other.encode())
