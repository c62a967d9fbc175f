"""The peer: the collector's server with an application that reads the body and answers 204. Argument: PORT."""

import sys
from http import HTTPStatus
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tidemark.producers.collect.server import listener, serve, server

_PATIENCE_MS: Final = 1_000


async def _answer(request: Request) -> Response:
    await request.body()
    return Response(status_code=HTTPStatus.NO_CONTENT)


PEER: Final = Starlette(routes=[Route("/events", _answer, methods=["POST"])])

if __name__ == "__main__":
    with listener("127.0.0.1", int(sys.argv[1])) as listening:
        serve(listening, server(PEER, (), _PATIENCE_MS))
