"""Readings of a warehouse: one at a time, and what was read a moment ago is not read again."""

import time
from collections.abc import Callable
from threading import Lock
from typing import Final, Generic, TypeVar

from deltalake import DeltaTable

from pipeline.commands.dashboard.books import Books, read_books
from pipeline.commands.dashboard.tables import Tables
from pipeline.tables.faults import is_of_store
from pipeline.tables.schemas import LEDGER

T = TypeVar("T")
_KEPT_S: Final = 0.5


class Reader:
    """A warehouse, for any number of people who look at the same time."""

    def __init__(self, warehouse: str) -> None:
        self.warehouse = warehouse
        self._lock = Lock()
        self._handles: dict[str, DeltaTable] = {}
        self._books: Books | None = None

    def read(self, ask: Callable[[Tables, Books | None], T]) -> T:
        """The answer as of one moment, with the ledger's books; None of them before the first batch.

        A file that was removed meanwhile, because a newer version of its table has no use for it, is no failure yet:
        it is asked again. Raises what a store raises.
        """
        with self._lock:
            try:
                return self._ask(ask)
            except Exception as error:
                if not is_of_store(error):
                    raise
                self._handles.clear()
                return self._ask(ask)

    def _ask(self, ask: Callable[[Tables, Books | None], T]) -> T:
        tables = Tables(self.warehouse, self._handles)
        ledger = tables.find(LEDGER.name)
        self._books = None if ledger is None else read_books(ledger, self._books)
        return ask(tables, self._books)


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
