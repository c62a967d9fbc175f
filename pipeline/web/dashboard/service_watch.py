"""The health of the service, requested while nothing is committed."""

from collections.abc import Callable
from typing import Final

from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.reading.health_client import ServiceHealth
from tidemark.pipeline.web.dashboard.question import Question

_PATIENCE_S: Final = 0.2
_FRESH_MS: Final = 5_000
"""Requests share an answer of the service for this long."""
_UNKNOWN: Final = ServiceHealth(is_healthy=False, sentence="The service has not answered yet.")


class ServiceWatch:
    """Asks the service for its health, at most once every few seconds, and waits briefly."""

    def __init__(self, ask: Callable[[], ServiceHealth]) -> None:
        self._ask = ask
        self._question: Question[ServiceHealth] = Question("service")

    async def health(self) -> ServiceHealth:
        """Returns the last answer, which is renewed if it is old."""
        answered_at = self._question.answered_at
        if answered_at is None or not 0 <= now_ms() - answered_at < _FRESH_MS:
            try:
                return await self._question.ask(self._ask, _PATIENCE_S)
            except TimeoutError:
                pass
        return self._question.answer or _UNKNOWN
