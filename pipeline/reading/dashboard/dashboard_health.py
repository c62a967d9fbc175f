"""The health of the dashboard: whether the tables can be read. Waits for no page, and for a bounded time."""

import asyncio
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from pipeline.errors import TidemarkError
from pipeline.reading.pages.table_reader import TableReader
from pipeline.tables.store_errors import STORE_ERRORS

_PATIENCE_S: Final = 4.0


class Health:
    """Reads a warehouse with handles and in a thread that no page uses. Concurrent requests share a reading."""

    def __init__(self, warehouse: str) -> None:
        self._reader = TableReader(warehouse)
        self._reading: asyncio.Task[bool] | None = None

    async def answer(self, _: Request) -> Response:
        """Answers 200, or 503 if the store fails or is silent. The text contains no data of the tables."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(asyncio.to_thread(self._can_read))
        try:
            async with asyncio.timeout(_PATIENCE_S):
                is_healthy = await asyncio.shield(self._reading)
        except TimeoutError:
            is_healthy = False
        if is_healthy:
            return PlainTextResponse("ok\n")
        return PlainTextResponse("the store of the tables does not answer\n", HTTPStatus.SERVICE_UNAVAILABLE)

    def _can_read(self) -> bool:
        try:
            self._reader.read(lambda *_: None)
        except (TidemarkError, *STORE_ERRORS):
            return False
        return True
