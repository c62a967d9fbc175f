"""Readings of a warehouse: one at a time, each as of one moment."""

from collections.abc import Callable
from threading import Lock
from typing import TypeVar

from deltalake import DeltaTable

from pipeline.commands.books import Books, read_books
from pipeline.commands.pages.tables import Tables
from pipeline.tables.faults import is_of_store
from pipeline.tables.schemas import LEDGER

T = TypeVar("T")


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
