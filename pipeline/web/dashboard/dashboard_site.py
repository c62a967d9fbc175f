"""The application of the dashboard: the paths of its pages, files and errors."""

from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from tidemark.pipeline import columns as c
from tidemark.pipeline.decoding.record_decoding import SchemaTexts
from tidemark.pipeline.errors import TidemarkError
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.reading.health_client import ServiceHealth
from tidemark.pipeline.reading.table_reader import TableReader
from tidemark.pipeline.settings.dashboard_settings import PANELS, Panel
from tidemark.pipeline.tables.store_errors import STORE_ERRORS
from tidemark.pipeline.web.dashboard.dashboard_access import Guard, GuardedSite
from tidemark.pipeline.web.dashboard.dashboard_health import Health
from tidemark.pipeline.web.dashboard.dashboard_pages import Pages
from tidemark.pipeline.web.dashboard.page_metrics import CountedSite, PageMetrics
from tidemark.pipeline.web.dashboard.shared_views import NotFound, StillReading
from tidemark.pipeline.web.dashboard.traffic_answers import TrafficAnswers

_FILES: Final = Path(__file__).parent / "static"
_HEALTH, _METRICS, _LOGIN, _STATIC = "/healthz", "/metrics", "/login", "/static"


def site(
    reader: TableReader,
    guard: Guard,
    schemas: Callable[[], SchemaTexts],
    service: Callable[[], ServiceHealth],
    clock: Callable[[], int] = now_ms,
    panels: Sequence[Panel] = PANELS,
) -> ASGIApp:
    """Returns the application. `service` asks the service for its health, and may block.

    `clock` returns the time in ms, by which days are named; `panels` are those of the first page.
    """
    pages, health = Pages(reader, guard, schemas, service, clock, panels), Health(reader.warehouse)
    metrics, traffic = PageMetrics(health), TrafficAnswers(reader, clock)
    static = StaticFiles(directory=_FILES, packages=[("tidemark.pipeline.web.pages", "static")])
    files = (f"{_STATIC}/{file.name}" for folder in static.all_directories for file in Path(folder).iterdir())
    routes = [
        *_routes(pages, traffic),
        Route(_HEALTH, health.answer),
        Route(_METRICS, metrics.answer),
        Route(_LOGIN, pages.login, methods=["POST"]),
        Mount(_STATIC, GZipMiddleware(static)),
    ]
    handlers: dict[Any, Any] = {
        HTTPStatus.NOT_FOUND: pages.missing,
        NotFound: pages.missing,
        StillReading: pages.late,
        **dict.fromkeys((TidemarkError, *STORE_ERRORS), pages.failed),
    }
    application = Starlette(routes=routes, exception_handlers=handlers)
    guarded = GuardedSite(application, guard, pages.login_form, frozenset((_HEALTH, _METRICS, _LOGIN, *files)))
    return CountedSite(guarded, metrics, uncounted=frozenset((_HEALTH, _METRICS)))


def _routes(pages: Pages, traffic: TrafficAnswers) -> list[Route]:
    """Returns the paths of what a reader asks for."""
    return [
        Route("/", pages.visitors),
        Route("/pipeline", pages.overview),
        Route("/reports/{name}", pages.report),
        Route("/users", partial(pages.history, c.USER_ID, "id")),
        Route("/pages", partial(pages.history, c.PAGE_URL, "url")),
        Route("/traffic.json", traffic.json),
        Route("/traffic.csv", traffic.csv),
        Route("/traffic.parquet", traffic.parquet),
        Route("/dead-letters", pages.dead_letters),
        Route("/dead-letters/{batch:int}/{partition:int}/{offset:int}", pages.dead_letter),
    ]
