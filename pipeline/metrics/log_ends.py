"""The broker's log ends, asked when somebody wants to know, and never for long."""

from collections.abc import Callable, Mapping
from threading import Event, Lock, Thread

import structlog

from pipeline.errors import TidemarkError

Ask = Callable[[], Mapping[int, int]]
"""Returns the log end of each partition, or raises a TidemarkError."""

_FRESH_MS = 1000
_log = structlog.get_logger()


class LogEnds:
    """Asks in a thread of its own, at most once a second, and tells what it heard.

    `hear` is called with every answer; while `ask` is None nobody is asked.
    """

    def __init__(self, hear: Callable[[Mapping[int, int]], None], now: Callable[[], int], patience_s: float) -> None:
        self.ask: Ask | None = None
        self.unanswered_since: int | None = None
        """When the first question was put since the last answer; None where there is none."""
        self._hear = hear
        self._now = now
        self._patience_s = patience_s
        self._lock = Lock()
        self._asked_at: int | None = None
        self._answered = Event()
        self._silent = False

    def refresh(self) -> None:
        """Returns when an answer of the last second was heard, when there is none to be had, or out of patience."""
        ask = self.ask
        if ask is None:
            return
        with self._lock:
            if self._due():
                self._asked_at, self._answered = self._now(), Event()
                if self.unanswered_since is None:
                    self.unanswered_since = self._asked_at
                Thread(target=self._inquire, args=(ask, self._answered), name="log-ends", daemon=True).start()
            answered = self._answered
        answered.wait(self._patience_s)

    def _due(self) -> bool:
        if self._asked_at is None:
            return True
        return self._answered.is_set() and not 0 <= self._now() - self._asked_at < _FRESH_MS

    def _inquire(self, ask: Ask, answered: Event) -> None:
        try:
            self._hear(ask())
            self._silent, self.unanswered_since = False, None
        except TidemarkError as error:
            if not self._silent:  # once per silence: a scrape comes every few seconds
                _log.warning("log_ends_unknown", reason=str(error))
            self._silent = True
        finally:
            answered.set()
