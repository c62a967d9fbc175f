"""`tidemark status --watch`: the status as a full screen, until Ctrl-C.

A separate thread reads it, so that a store that hangs blocks neither the screen nor Ctrl-C.
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

_REDRAW_S: Final = 0.5
"""Interval of redrawing, so that ages advance between readings."""
_SLOW_MS: Final = 5000


def watch_status(warehouse: str, report: str | None, every: timedelta) -> None:
    """Shows the status until SIGINT or SIGTERM, and restores the terminal.

    Raises SetUpError if standard output is no terminal, or if at the start the warehouse, its store or the report is
    missing. If the store fails later, the screen shows the error and the last status.
    """
    console = Console()
    if not sys.stdout.isatty() or console.is_dumb_terminal:
        raise SetUpError("--watch needs a terminal: standard output is not one")
    require_warehouse(warehouse)
    latest = LatestStatus(lambda: read_status(warehouse, report), every)
    stop = Event()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, lambda *_: stop.set())
    latest.keep_reading(stop)
    with Live(latest.screen(now_ms()), console=console, screen=True, auto_refresh=False) as live:
        while not stop.wait(_REDRAW_S):
            live.update(latest.screen(now_ms()), refresh=True)
    latest.raise_defect()


class LatestStatus:
    """The last status, and the outcome of the readings since."""

    def __init__(self, read: Callable[[], Status], every: timedelta) -> None:
        """Reads once, and raises what `read` raises."""
        self._read = read
        self._every = every
        self._status, self._read_at = read(), now_ms()
        self._reading_since: int | None = None
        """Start of the current reading, in ms; None between readings."""
        self._error = ""
        """Why the last reading failed; empty if it succeeded."""
        self._defect: Exception | None = None

    def keep_reading(self, stop: Event) -> None:
        """Reads in a background thread until `stop` is set; an error that is not the store's sets `stop`."""
        Thread(target=self._keep_reading, args=(stop,), name="status-reader", daemon=True).start()

    def raise_defect(self) -> None:
        """Raises the error that ended the background thread, if there is one."""
        if self._defect is not None:
            raise self._defect

    def screen(self, now: int) -> RenderableType:
        """Returns the screen at the time `now`, in ms."""
        head = styled(f"every {span_of(round(self._every.total_seconds() * 1000))}, Ctrl-C ends", "dim")
        notice = self._notice(now)
        return Group(head, *([styled(notice, "bold red")] if notice else []), "", render(self._status, now))

    def _notice(self, now: int) -> str:
        below = f"The status below is from {time_of(self._read_at)} UTC."
        if self._error:
            return f"The tables cannot be read: {self._error}. Retrying. {below}"
        reading_since = self._reading_since
        if reading_since is not None and now - reading_since > _SLOW_MS:
            return f"The store has not answered for {span_of(now - reading_since)}. {below}"
        return ""

    def _keep_reading(self, stop: Event) -> None:
        while not stop.wait(self._every.total_seconds()):
            self._reading_since = now_ms()
            try:
                self._status, self._read_at, self._error = self._read(), now_ms(), ""
            except (TidemarkError, *STORE_ERRORS) as error:
                self._error = one_line(error).rstrip(".")
            except Exception as defect:  # noqa: BLE001 - the main thread raises it
                self._defect = defect
                stop.set()
            finally:
                self._reading_since = None
