"""A page for many viewers: rendered and compressed once, and not sent again to a viewer that has it."""

import gzip
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.reading.health_client import ServiceHealth
from tidemark.pipeline.web.dashboard.shared_views import SharedView

VERSION: Final = "Tidemark-Version"
"""Header of a request: the version of the page that the browser displays."""
_RENDERED_MS: Final = 1000
"""Viewers share a rendered page for this long, so its ages lag by this much at most."""


@dataclass(frozen=True, slots=True)
class Content:
    """A template and its values."""

    template: str
    values: Mapping[str, Any]
    is_past: bool = False
    """Whether it is an earlier part of a list."""
    moving: Callable[[int], Mapping[str, Any]] | None = None
    """Returns values that depend on the time in ms."""
    moves_ms: int | None = None
    """After this time, `moving` has to be called again."""
    status: HTTPStatus = HTTPStatus.OK


@dataclass(frozen=True, slots=True)
class PageState:
    """The state that a page displays in addition to its content."""

    now: int
    committed_at: int | None
    service: ServiceHealth | None
    """Only while nothing is committed."""
    trouble: str
    version: str

    @property
    def headers(self) -> dict[str, str]:
        """Headers for the script of the page, which counts ages by itself."""
        committed = "" if self.committed_at is None else str(self.committed_at)
        return {"Tidemark-Now": str(self.now), "Tidemark-Committed": committed}


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page as HTML, and compressed."""

    version: str
    at: int
    html: bytes
    compressed: bytes

    def is_of(self, state: PageState) -> bool:
        """Returns whether it may be sent in this state."""
        return self.version == state.version and 0 <= state.now - self.at < _RENDERED_MS


def state_of(view: SharedView, service: ServiceHealth | None) -> PageState:
    """Returns the state in which a view is displayed now."""
    reading, now = view.reading, now_ms()
    content: Content = reading.content
    turn = now // content.moves_ms if content.moves_ms else 0
    parts = (reading.version, str(turn), view.trouble, service.sentence if service else "")
    version = hashlib.blake2b("\0".join(parts).encode(), digest_size=12).hexdigest()
    return PageState(now, reading.committed_at, service, view.trouble, version)


def is_displayed(request: Request, state: PageState) -> bool:
    """Returns whether the browser displays this state already."""
    return request.headers.get(VERSION) == state.version


def unchanged(state: PageState) -> Response:
    """Answers that the browser displays the newest page."""
    return Response(status_code=HTTPStatus.NO_CONTENT, headers=state.headers)


def rendered(html: str, state: PageState) -> RenderedPage:
    """Compresses a page."""
    text = html.encode()
    return RenderedPage(state.version, state.now, text, gzip.compress(text, compresslevel=5))


def sent(page: RenderedPage, request: Request, state: PageState, status: HTTPStatus) -> Response:
    """Answers with a page, compressed if the browser accepts it."""
    headers = {**state.headers, "Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("accept-encoding", "").lower():
        return HTMLResponse(page.html, status, headers)
    return HTMLResponse(page.compressed, status, {**headers, "Content-Encoding": "gzip"})
