"""An answer that all who ask at about the same time have together."""

import time
from collections.abc import Callable
from threading import Lock
from typing import Final, Generic, TypeVar

T = TypeVar("T")
_KEPT_S: Final = 0.5


class Shared(Generic[T]):
    """An answer that all who ask within half a second have together."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = Lock()
        self._kept: tuple[float, T] | None = None

    def __call__(self) -> T:
        """The answer, made anew where the last one is older."""
        with self._lock:
            if self._kept is None or time.monotonic() >= self._kept[0]:
                found = self._make()
                self._kept = (time.monotonic() + _KEPT_S, found)
            return self._kept[1]
