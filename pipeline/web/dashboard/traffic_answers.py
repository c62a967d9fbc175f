"""`/traffic.json`, `/traffic.csv` and `/traffic.parquet`: figures of a period, for programs and spreadsheets."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from tidemark.pipeline.errors import TidemarkError
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.reading.ledger_summary import LedgerSummary
from tidemark.pipeline.reading.periods.ask import Asker, BadQuestion, Words
from tidemark.pipeline.reading.periods.filters import OTHERS
from tidemark.pipeline.reading.periods.period import Compare
from tidemark.pipeline.reading.periods.period_traffic import PeriodTraffic
from tidemark.pipeline.reading.periods.traffic_json import as_json
from tidemark.pipeline.reading.periods.traffic_rows import as_csv, as_parquet
from tidemark.pipeline.reading.table_reader import CurrentTables, TableReader
from tidemark.pipeline.tables.store_errors import STORE_ERRORS, one_line
from tidemark.pipeline.web.dashboard.shared_views import ReadView, SharedView, SharedViews, StillReading

QUARTER_MS: Final = 900_000
"""Days of every zone start at a quarter of an hour: an answer is not older when it becomes another day."""
_PATIENCE_S: Final = 10.0
_PAUSE_S: Final = 0.05
_DEFAULTS: Final = {"period": "today", "compare": "none", "zone": ""}
Write = Callable[[PeriodTraffic], str | bytes]


class TrafficAnswers:
    """The handlers of requests. Answers are shared like pages: tables are read again only if they have changed."""

    def __init__(self, reader: TableReader, clock: Callable[[], int] = now_ms) -> None:
        """`clock` returns the time in ms, by which days are named."""
        self._views = SharedViews(reader)
        self._asker = Asker()
        self._clock = clock

    async def json(self, request: Request) -> Response:
        """Answers with an object."""
        return await self._answer(request, lambda traffic: json.dumps(as_json(traffic)) + "\n", "application/json")

    async def csv(self, request: Request) -> Response:
        """Answers with lines."""
        answer = await self._answer(request, as_csv, "text/csv; charset=utf-8")
        if answer.status_code == HTTPStatus.OK:
            answer.headers["Content-Disposition"] = 'attachment; filename="traffic.csv"'
        return answer

    async def parquet(self, request: Request) -> Response:
        """Answers with a Parquet file."""
        return await self._answer(request, as_parquet, "application/vnd.apache.parquet")

    async def _answer(self, request: Request, write: Write, media_type: str) -> Response:
        now = self._clock()
        try:
            words = words_of(request.query_params.multi_items())
            address = f"{sorted(request.query_params.items())} {now // QUARTER_MS}"
            view = await self._look(address, partial(self._ask, words, now))
        except BadQuestion as error:
            return _failed(HTTPStatus.BAD_REQUEST, str(error))
        except StillReading as error:
            return _failed(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        except (TidemarkError, *STORE_ERRORS) as error:
            return _failed(HTTPStatus.SERVICE_UNAVAILABLE, f"The tables cannot be read: {one_line(error)}")
        if view.trouble:  # figures that may be old are not given to a program, which reads no sentences
            return _failed(HTTPStatus.SERVICE_UNAVAILABLE, view.trouble)
        traffic: PeriodTraffic | None = view.reading.content
        if traffic is None:
            return _failed(HTTPStatus.NOT_FOUND, "No batch was committed yet: the first page says what is missing.")
        return Response(await asyncio.to_thread(write, traffic), media_type=media_type)

    async def _look(self, address: str, read: ReadView) -> SharedView:
        """Returns a view as of the tables of now, for which a program waits longer than a page.

        After that a reading that is a little older may be returned. Raises what `SharedViews.look` raises.
        """
        patient_until, is_update = time.monotonic() + _PATIENCE_S, False
        while True:
            try:
                view = await self._views.look(address, read, is_update=is_update)
            except StillReading:
                if time.monotonic() >= patient_until:
                    raise
            else:
                if view.question.asked_at is None or time.monotonic() >= patient_until:
                    return view
            is_update = True  # a reading that was just made is due again only after its share of the time
            await asyncio.sleep(_PAUSE_S)

    def _ask(
        self, words: Words, now: int, tables: CurrentTables, summary: LedgerSummary | None
    ) -> PeriodTraffic | None:
        return self._asker.ask(words, tables, summary, now)


def words_of(given: Sequence[tuple[str, str]], compare: Compare = Compare.NONE) -> Words:
    """Returns the question in parameters; `compare` is the default comparison. Raises BadQuestion."""
    if len({name for name, _ in given}) < len(given):
        raise BadQuestion("a parameter is given twice: leave one out")
    values = {name: value for name, value in given if value}
    question = _DEFAULTS | {"compare": compare} | {name: values.pop(name) for name in OTHERS if name in values}
    return Words.checked(**question, only=values)


def _failed(status: HTTPStatus, message: str) -> Response:
    headers = {"Retry-After": "1"} if status is HTTPStatus.SERVICE_UNAVAILABLE else None
    return Response(json.dumps({"error": message}) + "\n", status, headers, "application/json")
