"""The health of the dashboard: whether the tables can be read. Waits for no page, and for less than a second."""

from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from tidemark.command_line.counts import span_of
from tidemark.pipeline.errors import TidemarkError
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.reading.table_reader import TableReader
from tidemark.pipeline.tables.store_errors import STORE_ERRORS
from tidemark.pipeline.web.dashboard.question import Question

_PATIENCE_S: Final = 0.8
_SLOW_MS: Final = 5_000
"""A store that answered before may take this long."""


class Health:
    """Reads a warehouse with handles and in a thread that no page uses. Concurrent requests share a reading."""

    def __init__(self, warehouse: str) -> None:
        self._reader = TableReader(warehouse)
        self._question: Question[None] = Question("health")
        self._has_failed = False
        """Whether the last reading failed."""

    async def answer(self, _: Request) -> Response:
        """Answers 200, or 503 if the store fails or is silent. The text contains no data of the tables."""
        try:
            await self._question.ask(lambda: self._reader.read(lambda *_: None), _PATIENCE_S)
        except TimeoutError:
            return self._late()
        except (TidemarkError, *STORE_ERRORS):
            self._has_failed = True
            return _unhealthy("the store of the tables does not answer")
        self._has_failed = False
        return PlainTextResponse("ok\n")

    def _late(self) -> Response:
        now, asked_at, answered_at = now_ms(), self._question.asked_at, self._question.answered_at
        waited_ms = now - (asked_at or now)
        if answered_at is not None and not self._has_failed and waited_ms < _SLOW_MS:
            return PlainTextResponse("ok\n")
        last = (
            "it has not answered yet"
            if answered_at is None
            else f"its last answer was {span_of(now - answered_at)} ago"
        )
        answer = _unhealthy(f"the store of the tables has been silent for {span_of(waited_ms)}; {last}")
        answer.headers["Retry-After"] = "1"
        return answer


def _unhealthy(sentence: str) -> Response:
    return PlainTextResponse(f"{sentence}\n", HTTPStatus.SERVICE_UNAVAILABLE)
