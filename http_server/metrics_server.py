"""Serves `/metrics` of a process that serves nothing else by HTTP."""

from typing import Final

from prometheus_client import CollectorRegistry
from starlette.applications import Starlette
from starlette.routing import Route

from tidemark.http_server.background import Background
from tidemark.http_server.exposition import Exposition
from tidemark.http_server.limits import Limits
from tidemark.http_server.listening import listen
from tidemark.http_server.server import Server

_LIMITS: Final = Limits(connections=64, request_s=30)


def serve_registry(registry: CollectorRegistry, host: str, port: int) -> None:
    """Serves the metrics of `registry` until the process ends. Raises OSError if the address cannot be had."""
    listening = listen(host, port)
    page = Starlette(routes=[Route("/metrics", Exposition(registry).answer)])
    Background(Server(page, _LIMITS), listening, "metrics")
