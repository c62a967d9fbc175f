"""The pages of the dashboard. Each is rendered from one reading of the tables."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from http_server.body import TooLarge, TooSlow, read_body
from pipeline import columns as c
from pipeline.errors import TidemarkError
from pipeline.event_time import rules
from pipeline.instants import now_ms
from pipeline.reading.dashboard.dashboard_access import COOKIE, Guard, GuardedSite
from pipeline.reading.dashboard.dashboard_health import Health
from pipeline.reading.dashboard.key_history import history_of
from pipeline.reading.dashboard.overview import Overview, overview_of
from pipeline.reading.dashboard.shared_answer import SharedAnswer
from pipeline.reading.ledger_summary import LedgerSummary
from pipeline.reading.pages.letter_pages import REASONS, letter_of, letters_of, stored_letters
from pipeline.reading.pages.page_text import templates
from pipeline.reading.pages.table_reader import CurrentTables, TableReader
from pipeline.reading.pages.top_lists import page_zone
from pipeline.reading.pages.window_names import zone_of_report
from pipeline.reading.pages.window_sums import earlier_than, rows_of_report, windows_of
from pipeline.reading.record_decoding import SchemaTexts
from pipeline.tables.store_errors import STORE_ERRORS, one_line

T = TypeVar("T")
_FILES: Final = Path(__file__).parent / "static"
_HEALTH, _LOGIN, _STATIC = "/healthz", "/login", "/static"
_LARGEST: Final = rules.LATEST_EVENT_MS
"""Largest number in an address: end of a window (ms), batch or offset."""
_LOGIN_BYTES: Final = 4096
_LOGIN_S: Final = 10.0
_QUIET_MS: Final = 10_000
"""A service that reads events commits more often than this."""
_SHARED_S: Final = 0.5
"""Requests for the first page share an answer for this many seconds."""


class NotFound(TidemarkError):
    """The requested object does not exist; the text says what to do."""


class _Position(NamedTuple):
    """A position in a list: rows up to the number `until`, without the first `skip`."""

    until: int | None
    skip: int


class Pages:
    """The handlers of requests."""

    def __init__(
        self, reader: TableReader, guard: Guard, schemas: Callable[[], SchemaTexts], service: Callable[[], str]
    ) -> None:
        self._reader = reader
        self._guard = guard
        self._schemas = schemas
        self._service = service
        self._templates = templates("pipeline.reading.dashboard")
        self._overview = SharedAnswer(lambda: reader.read(self._read_overview), _SHARED_S)

    def overview(self, request: Request) -> Response:
        """Answers with the overview."""
        view = self._overview.get()
        if view is None:
            return self._page("empty.html", None)
        chosen = request.query_params.get("measure", "")
        return self._page("overview.html", view.summary, view=view, chosen=chosen)

    def report(self, request: Request) -> Response:
        """Answers with a report."""
        name, position = request.path_params["name"], _position(request)
        summary, content = self._read(
            lambda tables, summary: _report_page(tables, summary, name, request.query_params, position)
        )
        return self._page("report.html", summary, until=position.until, **content)

    def history(self, key: str, parameter: str, request: Request) -> Response:
        """Answers with the history of a key value. `parameter` is the query parameter that holds it."""
        value = request.query_params.get(parameter, "")
        if not value:
            raise NotFound(f"Add a value: {request.scope['path']}?{parameter}=…, or choose one on the first page.")
        summary, history = self._read(lambda tables, summary: history_of(tables, summary, key, value))
        return self._page("history.html", summary, history=history, key=key, value_of_key=value)

    def dead_letters(self, request: Request) -> Response:
        """Answers with dead letters of a reason."""
        reason, position = request.query_params.get("reason"), _position(request)
        if reason and reason not in REASONS:
            raise NotFound(f"There is no such reason. Reasons are {', '.join(REASONS)}.")
        summary, (letters, stored) = self._read(
            lambda tables, summary: (letters_of(tables, *position, reason=reason), stored_letters(tables, summary))
        )
        return self._page("dead_letters.html", summary, letters=letters, stored=stored, reason=reason, reasons=REASONS)

    def dead_letter(self, request: Request) -> Response:
        """Answers with one dead letter."""
        if max(request.path_params.values()) > _LARGEST:
            raise NotFound("There is no such dead letter.")
        summary, letter = self._read(lambda tables, _: letter_of(tables, self._schemas(), **request.path_params))
        if letter is None:
            raise NotFound("There is no such dead letter: it may have been removed by age.")
        return self._page("dead_letter.html", summary, letter=letter)

    async def login(self, request: Request) -> Response:
        """Checks the token of a form, and sets a cookie."""
        try:
            body = await read_body(request, _LOGIN_BYTES, _LOGIN_S)
        except TooLarge as error:
            return PlainTextResponse(f"{error}\n", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        except TooSlow as error:
            return PlainTextResponse(f"{error}\n", HTTPStatus.REQUEST_TIMEOUT)
        token = parse_qs(body.decode(errors="replace")).get("token", [""])[0]
        if not self._guard.is_token(token):
            return self.login_form("Wrong token.")
        answer = RedirectResponse("/", HTTPStatus.SEE_OTHER)
        answer.set_cookie(COOKIE, self._guard.cookie_value, httponly=True, samesite="strict")
        return answer

    def login_form(self, error: str = "") -> Response:
        """Answers with the form for the token."""
        return self._page("login.html", None, HTTPStatus.UNAUTHORIZED, error=error)

    def failed(self, _: Request, error: Exception) -> Response:
        """Answers with an error of the store."""
        message = f"The tables cannot be read: {one_line(error)}"
        return self._page("failed.html", None, HTTPStatus.SERVICE_UNAVAILABLE, message=message)

    def missing(self, _: Request, error: Exception) -> Response:
        """Answers that a page or object does not exist."""
        message = str(error) if isinstance(error, NotFound) else "There is no such page."
        return self._page("failed.html", None, HTTPStatus.NOT_FOUND, message=message)

    def _read_overview(self, tables: CurrentTables, summary: LedgerSummary | None) -> Overview | None:
        return None if summary is None else overview_of(tables, summary, self._schemas(), now_ms())

    def _read(self, read: Callable[[CurrentTables, LedgerSummary], T]) -> tuple[LedgerSummary, T]:
        """Returns the summary and what `read` returns, of one version. Raises NotFound before the first batch."""

        def read_both(tables: CurrentTables, summary: LedgerSummary | None) -> tuple[LedgerSummary, T]:
            if summary is None:
                raise NotFound("No batch was committed yet: the first page says what is missing.")
            return summary, read(tables, summary)

        return self._reader.read(read_both)

    def _page(self, name: str, summary: LedgerSummary | None, status: int = HTTPStatus.OK, **content: Any) -> Response:
        now = now_ms()
        quiet = summary is not None and now - summary.committed_at > _QUIET_MS
        common = {
            "warehouse": self._reader.warehouse,
            "summary": summary,
            "zone": UTC if summary is None else page_zone(summary.policy.reports),
            "now": now,
            "quiet": quiet,
            "service": self._service() if quiet else "",
        }
        return HTMLResponse(self._templates.get_template(name).render(common | content), status)


def site(reader: TableReader, guard: Guard, schemas: Callable[[], SchemaTexts], service: Callable[[], str]) -> ASGIApp:
    """Returns the application. `service` returns a sentence about the health of the service."""
    pages = Pages(reader, guard, schemas, service)
    static = StaticFiles(directory=_FILES, packages=[("pipeline.reading.pages", "static")])
    files = (f"{_STATIC}/{file.name}" for folder in static.all_directories for file in Path(folder).iterdir())
    routes = [
        Route("/", pages.overview),
        Route("/reports/{name}", pages.report),
        Route("/users", partial(pages.history, c.USER_ID, "id")),
        Route("/pages", partial(pages.history, c.PAGE_URL, "url")),
        Route("/dead-letters", pages.dead_letters),
        Route("/dead-letters/{batch:int}/{partition:int}/{offset:int}", pages.dead_letter),
        Route(_HEALTH, Health(reader.warehouse).answer),
        Route(_LOGIN, pages.login, methods=["POST"]),
        Mount(_STATIC, static),
    ]
    handlers: dict[Any, Any] = {
        HTTPStatus.NOT_FOUND: pages.missing,
        NotFound: pages.missing,
        **dict.fromkeys((TidemarkError, *STORE_ERRORS), pages.failed),
    }
    application = Starlette(routes=routes, exception_handlers=handlers)
    return GuardedSite(application, guard, pages.login_form, frozenset((_HEALTH, _LOGIN, *files)))


def _report_page(
    tables: CurrentTables, summary: LedgerSummary, name: str, parameters: Mapping[str, str], position: _Position
) -> dict[str, Any]:
    report = next((report for report in summary.policy.reports if report.name == name), None)
    if report is None:
        names = ", ".join(report.name for report in summary.policy.reports)
        raise NotFound(f"There is no report of this name; reports are {names}.")
    only = {key: parameters[key] for key in report.keys if parameters.get(key)}
    chosen = parameters.get("measure", "")
    if chosen and chosen not in report.sums:
        raise NotFound(f"{report.name} has no such measure to order by; it has {', '.join(report.sums) or 'no sums'}.")
    windows = [] if only else windows_of(tables, report, position.until)
    return {
        "report": report,
        "zone": zone_of_report(report, page_zone(summary.policy.reports)),
        "only": only,
        "chosen": chosen,
        "windows": windows,
        "earlier": earlier_than(windows, report),
        "rows": rows_of_report(tables, report, only, *position, chosen),
    }


def _position(request: Request) -> _Position:
    """Returns the position in a request. Raises NotFound if it is not made of numbers."""
    texts = [request.query_params.get(name, "") for name in ("until", "skip")]
    if not all(re.fullmatch("[0-9]{0,15}", text) and int(text or 0) <= _LARGEST for text in texts):
        raise NotFound("The values of until= and skip= are no position in a list: follow its links.")
    until, skip = texts
    return _Position(int(until) if until else None, int(skip or 0))
