"""An answer that all who ask at about the same time have together."""

import time
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """An answer that all who ask within some seconds have together."""

    def __init__(self, make: Callable[[], T], kept_s: float) -> None:
        self._make = make
        self._kept_s = kept_s
        self._lock = Lock()
        self._kept: tuple[float, T] | None = None

    def __call__(self) -> T:
        """The answer, made anew where the last one is older."""
        with self._lock:
            if self._kept is None or time.monotonic() >= self._kept[0]:
                found = self._make()
                self._kept = (time.monotonic() + self._kept_s, found)
            return self._kept[1]
