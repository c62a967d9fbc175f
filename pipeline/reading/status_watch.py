"""`tidemark status --watch`: the status as a full screen, until Ctrl-C.

It is read by a thread of its own: a store that hangs holds up neither the clock nor Ctrl-C.
"""

import signal
import sys
from collections.abc import Callable
from datetime import timedelta
from threading import Event, Thread
from typing import Final

from command_line.terminal import Console, Group, Live, RenderableType, styled
from pipeline.errors import SetUpError, TidemarkError
from pipeline.instants import now_ms, span_of, time_of
from pipeline.reading.service_status import read_status
from pipeline.reading.status_view import Status, render
from pipeline.tables.ledger import require_warehouse
from pipeline.tables.store_errors import STORE_ERRORS, one_line

_DRAWN_S: Final = 0.5
"""Ages on the screen go on between two readings."""
_SLOW_MS: Final = 5000


def watch_status(warehouse: str, report: str | None, every: timedelta) -> None:
    """Shows the status until SIGINT or SIGTERM, which leave the terminal as it was.

    Raises SetUpError where standard output is no terminal, or at the start there is no warehouse, no answer of its
    store, or no such report. Later a store may be away: then it says so, and shows what was there before.
    """
    console = Console()
    if not sys.stdout.isatty() or console.is_dumb_terminal:
        raise SetUpError("--watch fills a terminal, and standard output is none that can be: leave it out")
    require_warehouse(warehouse)
    latest = LatestStatus(lambda: read_status(warehouse, report), every)
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    latest.keep_reading(stop)
    with Live(latest.screen(now_ms()), console=console, screen=True, auto_refresh=False) as live:
        while not stop.wait(_DRAWN_S):
            live.update(latest.screen(now_ms()), refresh=True)
    latest.raise_defect()


class LatestStatus:
    """What was read last, and what became of the readings since."""

    def __init__(self, read: Callable[[], Status], every: timedelta) -> None:
        """Reads once. Raises what that raises."""
        self._read = read
        self._every = every
        self._status, self._read_at = read(), now_ms()
        self._asked_at: int | None = None
        """When the reading began that goes on; None while none does."""
        self._said = ""
        """Why the last reading failed."""
        self._defect: Exception | None = None

    def keep_reading(self, stop: Event) -> None:
        """Reads again and again in the background, until told to stop or by a defect of ours, which stops all."""
        Thread(target=self._keep_reading, args=(stop,), name="status-reader", daemon=True).start()

    def raise_defect(self) -> None:
        """Raises what ended the reading, if that was not the store's fault."""
        if self._defect is not None:
            raise self._defect

    def screen(self, now: int) -> RenderableType:
        """All that is shown at a time in milliseconds."""
        head = styled(f"every {span_of(round(self._every.total_seconds() * 1000))}, Ctrl-C ends", "dim")
        notice = self._notice(now)
        return Group(head, *([styled(notice, "bold red")] if notice else []), "", render(self._status, now))

    def _notice(self, now: int) -> str:
        below = f"What is below was read at {time_of(self._read_at)} UTC."
        if self._said:
            return f"The tables cannot be read: {self._said}. It is tried again. {below}"
        asked_at = self._asked_at
        if asked_at is not None and now - asked_at > _SLOW_MS:
            return f"The store has not answered for {span_of(now - asked_at)}. {below}"
        return ""

    def _keep_reading(self, stop: Event) -> None:
        while not stop.wait(self._every.total_seconds()):
            self._asked_at = now_ms()
            try:
                self._status, self._read_at, self._said = self._read(), now_ms(), ""
            except (TidemarkError, *STORE_ERRORS) as error:
                self._said = one_line(error).rstrip(".")
            except Exception as defect:  # noqa: BLE001 - the main thread raises it
                self._defect = defect
                stop.set()
            finally:
                self._asked_at = None
