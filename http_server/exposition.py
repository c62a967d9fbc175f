"""The metrics of a registry as Prometheus asks for them."""

import asyncio
import gzip
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.requests import Request
from starlette.responses import Response

_AT_ONCE: Final = 2
"""Scrapes that are answered concurrently. Others wait without a thread."""


class Exposition:
    """Answers scrapes in threads, because readings may wait for others."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def answer(self, request: Request) -> Response:
        """Returns all families, or those that `name[]` asks for."""
        async with self._turn:
            return await asyncio.to_thread(self._encode, request)

    def _encode(self, request: Request) -> Response:
        encode, kind = choose_encoder(request.headers.get("accept", ""))
        names = request.query_params.getlist("name[]")
        content = encode(self._registry.restricted_registry(names) if names else self._registry)
        headers = {"Content-Type": kind, "Vary": "Accept, Accept-Encoding"}
        if "gzip" in request.headers.get("accept-encoding", "").lower():
            content, headers["Content-Encoding"] = gzip.compress(content, compresslevel=1), "gzip"
        return Response(content, headers=headers)
