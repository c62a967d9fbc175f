"""The HTTP endpoint: paths and their handlers."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

from starlette.applications import Starlette
from starlette.endpoints import HTTPEndpoint
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tidemark.http_server.exposition import Exposition
from tidemark.producers.collect.intake import Intake
from tidemark.producers.collect.refusals import FirstRefusals
from tidemark.producers.collect.snippet import SNIPPET

_SNIPPET_HEADERS: Final = {
    "Cache-Control": "public, max-age=3600",
    # Otherwise a page with cross-origin isolation could not load the snippet from another site.
    "Cross-Origin-Resource-Policy": "cross-origin",
}
_PREFLIGHT_HOLDS_S: Final = 86_400


def application(intake: Intake, refusals: FirstRefusals) -> Starlette:
    """Returns the application that serves `intake`; its sink is closed when the server stops."""

    class Events(HTTPEndpoint):
        async def post(self, request: Request) -> Response:
            return await intake.take(request)

    async def snippet(_: Request) -> Response:
        return Response(SNIPPET, media_type="text/javascript", headers=_SNIPPET_HEADERS)

    async def healthz(_: Request) -> Response:
        return _state(not intake.sink.ended, "Well.", intake.sink.ended)

    async def readyz(_: Request) -> Response:
        return _state(await intake.sink.answers(), "Ready.", "Kafka does not answer.")

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(work) for work in (intake.sink.listen(), intake.sink.watch())]
        yield
        for task in tasks:
            task.cancel()
        intake.sink.close()

    routes = [
        Route("/events", Events, middleware=[_cors(intake.origins, refusals)]),
        Route("/tidemark.js", snippet),
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/metrics", Exposition(intake.metrics.registry).answer),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


def _state(good: bool, well: str, ill: str) -> Response:  # noqa: FBT001 - the state itself
    status = HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
    return PlainTextResponse(f"{well if good else ill}\n", status)


def _cors(origins: Sequence[str], refusals: FirstRefusals) -> Middleware:
    class Origins(CORSMiddleware):
        def is_allowed_origin(self, origin: str) -> bool:
            is_allowed = super().is_allowed_origin(origin)
            if not is_allowed:
                refusals.add(origin)
            return is_allowed

    # `sendBeacon` always includes cookies: without `allow_credentials` browsers send no beacon of JSON.
    return Middleware(
        Origins,
        allow_origins=origins,
        allow_methods=["POST"],
        allow_headers=["content-type"],
        allow_credentials=True,
        max_age=_PREFLIGHT_HOLDS_S,
    )
