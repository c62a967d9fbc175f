"""The metrics of the dashboard for Prometheus, without data of the tables; `docs/dashboard.md` lists them."""

from http import HTTPStatus
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidemark.http_server.exposition import Exposition
from tidemark.pipeline.web.dashboard.dashboard_health import Health

_CLASSES: Final = ("2xx", "3xx", "4xx", "5xx")


class PageMetrics:
    """The metrics of one dashboard, whose `health` each scrape asks for."""

    def __init__(self, health: Health) -> None:
        self.registry = CollectorRegistry()
        self.answers = Counter(
            "tidemark_page_answers_total",
            "Answers by class of their status, without those to probes and scrapes.",
            ["status"],
            registry=self.registry,
        )
        for status in _CLASSES:  # a rate needs an initial value
            self.answers.labels(status)
        self._health = health
        self._readable = Gauge(
            "tidemark_page_tables_readable", "1 while /healthz of the page answers 200, else 0.", registry=self.registry
        )
        self._exposition = Exposition(self.registry)

    async def answer(self, request: Request) -> Response:
        """Answers a scrape, within a second whatever the store does."""
        health = await self._health.answer(request)
        self._readable.set(health.status_code == HTTPStatus.OK)
        return await self._exposition.answer(request)


class CountedSite:
    """The site, whose answers are counted."""

    def __init__(self, site: ASGIApp, metrics: PageMetrics, uncounted: frozenset[str]) -> None:
        """Answers to requests for the paths `uncounted` are left out."""
        self._site, self._metrics, self._uncounted = site, metrics, uncounted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start" and scope["path"] not in self._uncounted:
                self._metrics.answers.labels(f"{message['status'] // 100}xx").inc()
            await send(message)

        await self._site(scope, receive, send_counted)
