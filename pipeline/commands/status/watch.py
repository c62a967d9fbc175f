"""`tidemark status --watch`: the status as a full screen, until Ctrl-C."""

import signal
import sys
from datetime import timedelta
from threading import Event
from typing import Final

from rich.console import Console
from rich.live import Live

from pipeline.commands.status.latest import Latest
from pipeline.commands.status.status import read_status
from pipeline.commands.times import now_ms
from pipeline.errors import SetUpError
from pipeline.tables.ledger import require_warehouse

_DRAWN_S: Final = 0.5
"""Ages on the screen go on between two readings."""


def watch_status(warehouse: str, report: str | None, every: timedelta) -> None:
    """Shows the status until SIGINT or SIGTERM, which leave the terminal as it was.

    Raises SetUpError where standard output is no terminal, or at the start there is no warehouse, no answer of its
    store, or no such report. Later a store may be away: then it says so, and shows what was there before.
    """
    console = Console()
    if not sys.stdout.isatty() or console.is_dumb_terminal:
        raise SetUpError("--watch fills a terminal, and standard output is none that can be: leave it out")
    require_warehouse(warehouse)
    latest = Latest(lambda: read_status(warehouse, report), every)
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    latest.keep_reading(stop)
    with Live(latest.screen(now_ms()), console=console, screen=True, auto_refresh=False) as live:
        while not stop.wait(_DRAWN_S):
            live.update(latest.screen(now_ms()), refresh=True)
    latest.raise_defect()
