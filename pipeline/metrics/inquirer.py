"""Questions to systems that may never answer: a thread asks, and callers wait only briefly."""

from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Final, Generic, TypeVar

import structlog

from tidemark.pipeline.errors import TidemarkError

T = TypeVar("T")
_FRESH_MS: Final = 1000
_log = structlog.get_logger()


class Inquirer(Generic[T]):
    """Asks a question at most once a second, and passes each answer to a callback.

    `ask` returns an answer or raises TidemarkError; it may block, and while it is None, `refresh` does nothing.
    """

    def __init__(
        self,
        question: str,
        ask: Callable[[], T] | None,
        on_answer: Callable[[T], None],
        now: Callable[[], int],
        patience_s: float,
    ) -> None:
        """Asks nothing yet. `question` names the question in the log, `now` is a clock in milliseconds."""
        self.ask = ask
        self.unanswered_since: int | None = None
        """When the question was first asked since the last answer, in ms; None while no answer is due."""
        self._question = question
        self._on_answer = on_answer
        self._now = now
        self._patience_s = patience_s
        self._lock = Lock()
        self._asked_at: int | None = None
        self._answered = Event()
        self._has_warned = False

    def refresh(self, *, wait: bool = True) -> None:
        """Asks again unless the last answer is less than a second old; with `wait`, waits for it up to `patience_s`."""
        ask = self.ask
        if ask is None:
            return
        with self._lock:
            if self._is_due():
                self._asked_at, self._answered = self._now(), Event()
                if self.unanswered_since is None:
                    self.unanswered_since = self._asked_at
                Thread(target=self._inquire, args=(ask, self._answered), name=self._question, daemon=True).start()
            answered = self._answered
        if wait:
            answered.wait(self._patience_s)

    def _is_due(self) -> bool:
        if self._asked_at is None:
            return True
        return self._answered.is_set() and not 0 <= self._now() - self._asked_at < _FRESH_MS

    def _inquire(self, ask: Callable[[], T], answered: Event) -> None:
        try:
            self._on_answer(ask())
            self._has_warned, self.unanswered_since = False, None
        except TidemarkError as error:
            if not self._has_warned:  # once until the next answer: a scrape comes every few seconds
                _log.warning("question_unanswered", question=self._question, reason=str(error))
            self._has_warned = True
        finally:
            answered.set()
