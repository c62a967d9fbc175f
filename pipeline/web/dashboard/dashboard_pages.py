"""The pages of the dashboard. Each is rendered from one reading of the tables."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from functools import partial
from http import HTTPStatus
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from tidemark.http_server.body import TooLarge, TooSlow, read_body
from tidemark.pipeline.decoding.record_decoding import SchemaTexts
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.reading.health_client import ServiceHealth, is_quiet
from tidemark.pipeline.reading.ledger_summary import LedgerSummary
from tidemark.pipeline.reading.periods.ask import Asker
from tidemark.pipeline.reading.table_reader import CurrentTables, Reading, TableReader
from tidemark.pipeline.reading.window_names import zone_of_report
from tidemark.pipeline.settings.dashboard_settings import PANELS, Panel
from tidemark.pipeline.tables.store_errors import one_line
from tidemark.pipeline.web.dashboard.dashboard_access import COOKIE, Guard
from tidemark.pipeline.web.dashboard.key_views import KeyViews
from tidemark.pipeline.web.dashboard.live_page import (
    VERSION,
    Content,
    PageState,
    RenderedPage,
    is_displayed,
    rendered,
    sent,
    state_of,
    unchanged,
)
from tidemark.pipeline.web.dashboard.overview import Overview, overview_of
from tidemark.pipeline.web.dashboard.service_watch import ServiceWatch
from tidemark.pipeline.web.dashboard.shared_views import NotFound, ReadView, SharedViews
from tidemark.pipeline.web.dashboard.traffic_answers import QUARTER_MS
from tidemark.pipeline.web.dashboard.visitor_views import VisitorViews
from tidemark.pipeline.web.pages.letter_pages import REASONS, letter_of, letters_of, stored_letters
from tidemark.pipeline.web.pages.page_text import templates
from tidemark.pipeline.web.pages.top_lists import page_zone
from tidemark.pipeline.web.pages.watermark_picture import picture_of
from tidemark.pipeline.web.pages.window_sums import earlier_than, rows_of_report, windows_of

_LARGEST: Final = rules.LATEST_EVENT_MS
"""Largest number in an address: end of a window (ms), batch or offset."""
_LOGIN_BYTES: Final = 4096
_LOGIN_S: Final = 10.0
_CLOCK_MS: Final = 30_000
"""How often the picture of the watermark is drawn with a new clock while the tables do not change."""


class _Position(NamedTuple):
    """A position in a list: rows up to the number `until`, without the first `skip`."""

    until: int | None
    skip: int


class Pages:
    """The handlers of requests."""

    def __init__(
        self,
        reader: TableReader,
        guard: Guard,
        schemas: Callable[[], SchemaTexts],
        service: Callable[[], ServiceHealth],
        clock: Callable[[], int] = now_ms,
        panels: Sequence[Panel] = PANELS,
    ) -> None:
        """`clock` returns the time in ms, by which days are named; `panels` are those of the first page."""
        self._clock = clock
        self._warehouse = reader.warehouse
        self._guard = guard
        self._schemas = schemas
        self._service = ServiceWatch(service)
        self._templates = templates("tidemark.pipeline.web.dashboard")
        self._views = SharedViews(reader)
        asker = Asker()
        self._visitors, self._keys = VisitorViews(asker, panels), KeyViews(asker)

    async def visitors(self, request: Request) -> Response:
        """Answers with the first page, for people who ask about visitors."""
        now = self._clock()
        read = partial(self._visitors.read, request.query_params.multi_items(), now)
        return await self._answer(request, read, turn=now // QUARTER_MS)

    async def overview(self, request: Request) -> Response:
        """Answers with the page for people who run the service."""
        chosen = request.query_params.get("measure", "")
        return await self._answer(request, partial(self._read_overview, chosen))

    async def report(self, request: Request) -> Response:
        """Answers with a report."""
        name, position = request.path_params["name"], _position(request)
        parameters = request.query_params
        return await self._answer(
            request, _committed(lambda tables, summary: _report_page(tables, summary, name, parameters, position))
        )

    async def history(self, key: str, parameter: str, request: Request) -> Response:
        """Answers with a value of a key, which `parameter` of the query holds; without one with a search for it."""
        value, until = request.query_params.get(parameter, ""), _position(request).until
        read = partial(self._keys.history, key, value, until) if value else partial(self._search, request, key)
        return await self._answer(request, _committed(read))

    def _search(self, request: Request, key: str, tables: CurrentTables, summary: LedgerSummary) -> Content:
        return self._keys.search(key, request.query_params.get("prefix", ""), tables, summary)

    async def dead_letters(self, request: Request) -> Response:
        """Answers with dead letters of a reason."""
        reason, position = request.query_params.get("reason"), _position(request)
        if reason and reason not in REASONS:
            raise NotFound(f"There is no such reason. Reasons are {', '.join(REASONS)}.")

        def read(tables: CurrentTables, summary: LedgerSummary) -> Content:
            letters, stored = letters_of(tables, *position, reason=reason), stored_letters(tables, summary)
            values = {"letters": letters, "stored": stored, "reason": reason, "reasons": REASONS}
            return Content("dead_letters.html", values, is_past=position.until is not None)

        return await self._answer(request, _committed(read))

    async def dead_letter(self, request: Request) -> Response:
        """Answers with one dead letter."""
        place = request.path_params
        if max(place.values()) > _LARGEST:
            raise NotFound("There is no such dead letter.")

        def read(tables: CurrentTables, _: LedgerSummary) -> Content:
            letter = letter_of(tables, self._schemas(), **place)
            if letter is None:
                raise NotFound("There is no such dead letter: it may have been removed by age.")
            return Content("dead_letter.html", {"letter": letter})

        return await self._answer(request, _committed(read))

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
        return self._plain("login.html", HTTPStatus.UNAUTHORIZED, error=error)

    def failed(self, _: Request, error: Exception) -> Response:
        """Answers with an error of the store."""
        message = f"The tables cannot be read: {one_line(error)}"
        return self._plain("failed.html", HTTPStatus.SERVICE_UNAVAILABLE, message=message)

    def late(self, request: Request, error: Exception) -> Response:
        """Answers that the tables have not been read yet: to a person 200, as the page soon becomes what was asked for.

        The script of a page with data gets 503, so that its data stays. Retry-After distinguishes both from the page.
        """
        status = HTTPStatus.SERVICE_UNAVAILABLE if request.headers.get(VERSION) else HTTPStatus.OK
        answer = self._plain("loading.html", status, message=str(error))
        answer.headers["Retry-After"] = "1"
        return answer

    def missing(self, _: Request, error: Exception) -> Response:
        """Answers that a page or object does not exist."""
        message = str(error) if isinstance(error, NotFound) else "There is no such page."
        return self._plain("failed.html", HTTPStatus.NOT_FOUND, message=message)

    def _read_overview(self, chosen: str, tables: CurrentTables, summary: LedgerSummary | None) -> Content:
        if summary is None:
            return Content("empty.html", {})
        view = overview_of(tables, summary, self._schemas(), now_ms())
        return Content("overview.html", {"chosen": chosen}, moving=partial(_overview_at, view), moves_ms=_CLOCK_MS)

    async def _answer(self, request: Request, read: ReadView, turn: int = 0) -> Response:
        """Answers with a page, or with 204 if the browser displays it already; it is read again at each new `turn`."""
        address = f"{request.scope['path']}?{request.url.query} {turn}"
        view = await self._views.look(address, read, is_update=VERSION in request.headers)
        is_shown = not view.trouble and is_quiet(view.reading.committed_at)
        service = await self._service.health() if is_shown else None
        state = state_of(view, service)
        if is_displayed(request, state):
            return unchanged(state)
        page = view.page
        if page is None or not page.is_of(state):
            page = view.page = await asyncio.to_thread(self._rendered, view.reading, state)
        return sent(page, request, state, view.reading.content.status)

    def _rendered(self, reading: Reading[Content], state: PageState) -> RenderedPage:
        content = reading.content
        moving = content.moving(state.now) if content.moving else {}
        summary = reading.summary
        zone = UTC if summary is None else page_zone(summary.policy.reports)
        values = {"zone": zone, **content.values, **moving, "summary": summary, "state": state}
        values["is_past"] = content.is_past
        return rendered(self._render(content.template, state.now, **values), state)

    def _plain(self, template: str, status: int, **values: Any) -> Response:
        """Answers with a page without data of the tables."""
        return HTMLResponse(self._render(template, now_ms(), summary=None, state=None, zone=UTC, **values), status)

    def _render(self, template: str, now: int, **values: Any) -> str:
        return self._templates.get_template(template).render(warehouse=self._warehouse, now=now, **values)


def _committed(read: Callable[[CurrentTables, LedgerSummary], Content]) -> ReadView:
    """Wraps `read`, so that it raises NotFound before the first batch."""

    def read_if_committed(tables: CurrentTables, summary: LedgerSummary | None) -> Content:
        if summary is None:
            raise NotFound("No batch was committed yet: the first page says what is missing.")
        return read(tables, summary)

    return read_if_committed


def _overview_at(view: Overview, now: int) -> dict[str, Any]:
    """Returns the overview with the clock at `now`."""
    return {"view": replace(view, picture=picture_of(view.summary, view.lanes, view.report, now))}


def _report_page(
    tables: CurrentTables, summary: LedgerSummary, name: str, parameters: Mapping[str, str], position: _Position
) -> Content:
    report = next((report for report in summary.policy.reports if report.name == name), None)
    if report is None:
        names = ", ".join(report.name for report in summary.policy.reports)
        raise NotFound(f"There is no report of this name; reports are {names}.")
    only = {key: parameters[key] for key in report.keys if parameters.get(key)}
    chosen = parameters.get("measure", "")
    if chosen and chosen not in report.sums:
        raise NotFound(f"{report.name} has no such measure to order by; it has {', '.join(report.sums) or 'no sums'}.")
    windows = [] if only else windows_of(tables, report, position.until)
    values = {
        "report": report,
        "zone": zone_of_report(report, page_zone(summary.policy.reports)),
        "only": only,
        "chosen": chosen,
        "until": position.until,
        "windows": windows,
        "earlier": earlier_than(tables, windows, report),
        "rows": rows_of_report(tables, report, only, *position, chosen),
    }
    return Content("report.html", values, is_past=position.until is not None)


def _position(request: Request) -> _Position:
    """Returns the position in a request. Raises NotFound if it is not made of numbers."""
    texts = [request.query_params.get(name, "") for name in ("until", "skip")]
    if not all(re.fullmatch("[0-9]{0,15}", text) and int(text or 0) <= _LARGEST for text in texts):
        raise NotFound("The values of until= and skip= are no position in a list: follow its links.")
    until, skip = texts
    return _Position(int(until) if until else None, int(skip or 0))
