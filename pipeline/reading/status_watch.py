"""`tidemark status --watch`: the status as a full screen, until `q` or Ctrl-C.

A separate thread reads it, so that a store that hangs blocks neither the screen nor the keys.
"""

import signal
import sys
from collections.abc import Callable
from datetime import timedelta
from threading import Event, Thread
from typing import Final

from tidemark.command_line.counts import span_of
from tidemark.command_line.keys import QUITS, Keys
from tidemark.command_line.terminal import Console, Live, RenderableType, styled
from tidemark.pipeline.errors import SetUpError, TidemarkError
from tidemark.pipeline.instants import now_ms, time_of
from tidemark.pipeline.reading.health_client import ServiceHealth, is_quiet, service_health
from tidemark.pipeline.reading.service_status import read_status
from tidemark.pipeline.reading.status_view import Status, render_screen
from tidemark.pipeline.settings.model import MetricsSettings
from tidemark.pipeline.tables.ledger import require_warehouse
from tidemark.pipeline.tables.store_errors import STORE_ERRORS, one_line

_REDRAW_S: Final = 0.5
"""Interval of redrawing, so that ages advance between readings."""
_SLOW_MS: Final = 5000


def watch_status(warehouse: str, report: str | None, every: timedelta, metrics: MetricsSettings) -> None:
    """Shows the status until `q`, SIGINT or SIGTERM, and restores the terminal.

    If nothing was committed for a while it asks the service at `metrics` for its health.

    Raises SetUpError if standard output is not a terminal, or if at the start the warehouse, its store or the report is
    missing. If the store fails later, the screen shows the error and the last status.
    """
    console = Console()
    if not sys.stdout.isatty() or console.is_dumb_terminal:
        raise SetUpError("--watch needs a terminal: standard output is not one")
    require_warehouse(warehouse)
    latest = LatestStatus(lambda: read_status(warehouse, report), every, lambda: service_health(metrics, warehouse))
    stop = Event()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, lambda *_: stop.set())
    latest.keep_reading(stop)
    with Keys() as keys, Live(latest.screen(now_ms()), console=console, screen=True, auto_refresh=False) as live:
        while not stop.is_set() and keys.pressed(_REDRAW_S) not in QUITS:
            live.update(latest.screen(now_ms()), refresh=True)
    latest.raise_defect()


class LatestStatus:
    """The last status, and the outcome of the readings since."""

    def __init__(self, read: Callable[[], Status], every: timedelta, ask: Callable[[], ServiceHealth]) -> None:
        """Reads once, and raises what `read` raises. `ask` returns the health of the service."""
        self._read = read
        self._ask = ask
        self._every = every
        self._health: ServiceHealth | None = None
        """None while batches are committed."""
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
        head = styled(f"every {span_of(round(self._every.total_seconds() * 1000))}, q quits", "dim")
        notices = [styled(notice, "bold red") for notice in (self._notice(now), self._stopped(now)) if notice]
        return render_screen(self._status, now, head, *notices)

    def _notice(self, now: int) -> str:
        below = f"The status below is from {time_of(self._read_at)} UTC."
        if self._error:
            return f"The tables cannot be read: {self._error}. Retrying. {below}"
        reading_since = self._reading_since
        if reading_since is not None and now - reading_since > _SLOW_MS:
            return f"The store has not answered for {span_of(now - reading_since)}. {below}"
        return ""

    def _stopped(self, now: int) -> str:
        """Returns a sentence on how long nothing was committed, if the service is unhealthy; else an empty text."""
        summary, health = self._status.summary, self._health
        if summary is None or health is None or health.is_healthy:
            return ""
        return f"Nothing was committed for {span_of(now - summary.committed_at)}. {health.sentence}"

    def _keep_reading(self, stop: Event) -> None:
        while not stop.wait(self._every.total_seconds()):
            self._reading_since = now_ms()
            try:
                self._status, self._read_at, self._error = self._read(), now_ms(), ""
                summary = self._status.summary
                self._health = self._ask() if is_quiet(summary.committed_at if summary else None) else None
            except (TidemarkError, *STORE_ERRORS) as error:
                self._error = one_line(error).rstrip(".")
            except Exception as defect:  # noqa: BLE001 - the main thread raises it
                self._defect = defect
                stop.set()
            finally:
                self._reading_since = None
