"""An answer that requests at about the same time share."""

import time
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from pipeline.reading.bounded_lock import acquired
from pipeline.reading.pages.table_reader import PATIENCE_S

T = TypeVar("T")


class SharedAnswer(Generic[T]):
    """Computes an answer once for all requests within `lifetime_s` seconds."""

    def __init__(self, compute: Callable[[], T], lifetime_s: float, patience_s: float = PATIENCE_S) -> None:
        """Raises TransientError from `get` if another request computes for longer than `patience_s` seconds."""
        self._compute, self._lifetime_s, self._patience_s = compute, lifetime_s, patience_s
        self._lock = Lock()
        self._cached: tuple[float, T] | None = None
        """When the answer expires, by the monotonic clock, and the answer."""

    def get(self) -> T:
        """Returns the answer, computed again if it has expired."""
        with acquired(self._lock, self._patience_s):
            if self._cached is None or time.monotonic() >= self._cached[0]:
                answer = self._compute()
                self._cached = (time.monotonic() + self._lifetime_s, answer)
            return self._cached[1]
