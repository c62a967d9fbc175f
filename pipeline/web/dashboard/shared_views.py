"""Views of the tables, which all viewers share: each is read again only if the tables have changed."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from tidemark.command_line.counts import span_of
from tidemark.pipeline.errors import TidemarkError
from tidemark.pipeline.instants import now_ms, time_of
from tidemark.pipeline.reading.health_client import is_quiet
from tidemark.pipeline.reading.ledger_summary import LedgerSummary
from tidemark.pipeline.reading.table_reader import CurrentTables, Reading, TableReader
from tidemark.pipeline.tables.store_errors import STORE_ERRORS, one_line
from tidemark.pipeline.web.dashboard.question import Question

ReadView = Callable[[CurrentTables, LedgerSummary | None], Any]

READ_AGAIN: Final = "The tables are being read again."
"""Displayed with a reading that may be old, until the tables have been read."""
_PATIENCE_S: Final = 0.6
"""A page is answered within a second, whatever the store does."""
_SILENT_MS: Final = 5_000
"""A reading that takes longer than this is displayed as trouble."""
_LOOK_S: Final = 0.5
"""Updates share one look at the versions of the tables for this long."""
_VIEWS: Final = 64
_PENDING: Final = 32
"""At most this many readings wait at once, each in a thread."""
_SHARE: Final = 0.08
"""Share of a core that updates of all views together may use, in CPU time of readings."""
_VIEWED_S: Final = 5.0
"""A view counts as displayed if it was requested within this time."""


class NotFound(TidemarkError):
    """The requested object does not exist; the text says what to do."""


class StillReading(TidemarkError):
    """The tables have not been read in time, and no earlier reading exists. The text is a sentence for the page."""


@dataclass(slots=True)
class SharedView:
    """A page by its address, and its last reading."""

    question: Question[Reading[Any]] = field(default_factory=lambda: Question("view"))
    trouble: str = ""
    """Why the last reading is not renewed."""
    requested: float = 0.0
    """By the monotonic clock."""
    page: Any = None
    """The page as it was rendered last."""

    @property
    def reading(self) -> Reading[Any]:
        """The last reading. Only for views that were read."""
        assert self.question.answer is not None  # noqa: S101 - `SharedViews.look` raises otherwise
        return self.question.answer


class SharedViews:
    """Views by their addresses. The least recently requested are forgotten."""

    def __init__(self, reader: TableReader) -> None:
        self._reader = reader
        self._views: OrderedDict[str, SharedView] = OrderedDict()

    async def look(self, address: str, read: ReadView, *, is_update: bool) -> SharedView:
        """Returns a view with a new reading, or with its last reading and the reason why it is not renewed.

        Without an earlier reading, raises StillReading, or what the store and `read` raise. `is_update` is false if
        a person waits for the page.
        """
        view = self._requested(address)
        known = view.question.answer
        is_due = not is_update or known is None or self._is_due(known)
        age_s = _LOOK_S if is_update else 0.0
        compute = partial(self._reader.read_newer, read, known, is_due=is_due, age_s=age_s)
        try:
            await view.question.ask(compute, _PATIENCE_S)
            view.trouble = ""
        except NotFound:
            raise
        except TimeoutError:
            view.trouble = self._silence(view)
        except (TidemarkError, *STORE_ERRORS) as error:
            if view.question.answer is None:
                raise
            view.trouble = f"The tables cannot be read: {one_line(error)}"
        return view

    def _requested(self, address: str) -> SharedView:
        """Returns the view of an address, and forgets the least recently requested view if there are too many.

        Raises StillReading if too many other views are being read.
        """
        view = self._views.get(address) or SharedView()
        if view.question.asked_at is None and self._pending() >= _PENDING:
            raise StillReading(f"The tables are being read for {_PENDING} other pages.")
        self._views[address] = view
        self._views.move_to_end(address)
        view.requested = time.monotonic()
        if len(self._views) > _VIEWS:
            self._views.popitem(last=False)
        return view

    def _pending(self) -> int:
        return sum(view.question.asked_at is not None for view in self._views.values())

    def _is_due(self, known: Reading[Any]) -> bool:
        """Returns whether updates of all displayed views use less than their share if this view is read again."""
        now = time.monotonic()
        displayed = sum(now - view.requested < _VIEWED_S for view in self._views.values())
        return now >= known.read_at + known.cpu_s * displayed / _SHARE

    def _silence(self, view: SharedView) -> str:
        """Returns why a view has no new reading; empty while the last one is young. Raises StillReading without one."""
        now, asked_at = now_ms(), view.question.asked_at
        last = self._reader.answered_at
        when = "has not answered yet" if last is None else f"last answered at {time_of(last)} UTC"
        if view.question.answer is None:
            age = "" if last is None else f", {span_of(now - last)} ago"
            waited = span_of(now - (asked_at or now))
            raise StillReading(f"The tables have been read for {waited}, and their store {when}{age}.")
        if asked_at is not None and now - asked_at >= _SILENT_MS:
            return f"The store of the tables does not answer: it {when}."
        # Newer batches may be committed.
        return READ_AGAIN if is_quiet(view.reading.committed_at) else ""
