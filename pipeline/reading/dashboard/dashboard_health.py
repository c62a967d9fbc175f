"""Whether the tables can be read: an answer that waits for no page, and never long."""

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
    """Looks at a warehouse by handles and in a thread that no page uses; requests meanwhile share the look."""

    def __init__(self, warehouse: str) -> None:
        self._reader = TableReader(warehouse)
        self._looking: asyncio.Task[bool] | None = None

    async def answer(self, _: Request) -> Response:
        """Answers 200, or 503 where the store fails or is silent; the text has nothing of the tables."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(asyncio.to_thread(self._look))
        try:
            async with asyncio.timeout(_PATIENCE_S):
                is_well = await asyncio.shield(self._looking)
        except TimeoutError:
            is_well = False
        if is_well:
            return PlainTextResponse("ok\n")
        return PlainTextResponse("the store of the tables does not answer\n", HTTPStatus.SERVICE_UNAVAILABLE)

    def _look(self) -> bool:
        try:
            self._reader.read(lambda *_: None)
        except (TidemarkError, *STORE_ERRORS):
            return False
        return True
