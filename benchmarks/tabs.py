"""Measures what open tabs of the dashboard cost, on an unchanged warehouse and while batches are committed."""

import gzip
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from threading import Event, Thread
from typing import Final

from rich.table import Table

from benchmarks.measure import cpu_seconds
from benchmarks.report import figures_table
from benchmarks.views import commit_batch, dashboard_of, write_warehouse

_PATHS: Final = ("/pipeline", "/reports/page_views", "/reports/page_traffic", "/pages?url=/p/7", "/dead-letters")
_WINDOWS: Final = 20
_EVERY_S: Final = 1.0
"""Time between the requests of a tab, as in the script of the page."""
_SETTLE_S: Final = 5.0
"""Time after the tabs are opened that does not count."""
_DAY_S: Final = 86_400
SCENES: Final[dict[str, tuple[int, bool]]] = {
    "no tab, unchanged": (0, False),
    "one tab, unchanged": (1, False),
    "five pages, unchanged": (5, False),
    "one tab, a batch each second": (1, True),
    "five pages, a batch each second": (5, True),
}
"""Number of tabs, and whether batches are committed."""


@dataclass(frozen=True)
class Cost:
    """The cost of the tabs of a scene."""

    core: float
    """Share of a core that the dashboard used."""
    bytes_per_day: float
    """Received by one tab."""
    pages: int
    """Pages that were sent to all tabs."""


@dataclass
class _Tab:
    """A browser that displays a page, and asks for changes as its script does."""

    port: int
    path: str
    received: int = 0
    pages: int = 0
    version: str = ""
    ended: Event = field(default_factory=Event)

    def run(self) -> None:
        """Asks until the tab is closed."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not self.ended.wait(_EVERY_S):
            connection.request("GET", self.path, headers={"Tidemark-Version": self.version, "Accept-Encoding": "gzip"})
            answer = connection.getresponse()
            body = answer.read()
            self.received += len(body) + len(str(answer.headers))
            if body:
                self.pages += 1
                self.version = _version_of(body, compressed=answer.headers["Content-Encoding"] == "gzip")
        connection.close()


def costs(rest_s: float, work: Path, scenes: Iterable[str] = SCENES) -> dict[str, Cost]:
    """Returns the cost of each scene, measured for `rest_s` seconds."""
    warehouse = work / "tabs"
    write_warehouse(str(warehouse), _WINDOWS)
    found = {}
    with dashboard_of(warehouse, work) as (port, dashboard):
        for name in scenes:
            number, commits = SCENES[name]
            act = (lambda: commit_batch(str(warehouse), _WINDOWS)) if commits else (lambda: None)
            found[name] = _measure(dashboard.process.pid, [_Tab(port, path) for path in _PATHS[:number]], act, rest_s)
        dashboard.check()
    return found


def _measure(pid: int, tabs: list[_Tab], act: Callable[[], object], rest_s: float) -> Cost:
    threads = [Thread(target=tab.run, daemon=True) for tab in tabs]
    for thread in threads:
        thread.start()
    _pass_time(_SETTLE_S, act)
    pages, received = sum(tab.pages for tab in tabs), sum(tab.received for tab in tabs)
    begun, cpu_s = time.monotonic(), cpu_seconds(pid)
    _pass_time(rest_s, act)
    elapsed_s, cpu_s = time.monotonic() - begun, cpu_seconds(pid) - cpu_s
    pages, received = sum(tab.pages for tab in tabs) - pages, sum(tab.received for tab in tabs) - received
    for tab in tabs:
        tab.ended.set()
    for thread in threads:
        thread.join()
    return Cost(cpu_s / elapsed_s, received / max(1, len(tabs)) / elapsed_s * _DAY_S, pages)


def _pass_time(seconds: float, act: Callable[[], object]) -> None:
    """Acts once a second."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        act()
        time.sleep(min(_EVERY_S, left))


def _version_of(body: bytes, *, compressed: bool) -> str:
    text = gzip.decompress(body) if compressed else body
    found = re.search(rb'data-version="(\w+)"', text)
    return found[1].decode() if found else ""


def render(found: dict[str, Cost]) -> Table:
    """Returns a table with a row for each scene."""
    rows = [
        [name, f"{cost.core * 100:.2f}", f"{cost.bytes_per_day / 1e6:.1f}", str(cost.pages)]
        for name, cost in found.items()
    ]
    return figures_table(
        "Open tabs of the dashboard", ["tabs", "% of a core", "MB a day and tab", "pages"], rows, words=1
    )
