"""`tidemark correct`: too-late events are added to the closed windows that they belong to, each once.

It may run while the service goes on: it touches closed windows only, of which the service has published the end.
"""

import argparse
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from pipeline import columns as c
from pipeline.commands.correct.late import REASONS, Chosen, apply_corrections
from pipeline.settings.load import load_settings
from pipeline.settings.start_position import iso_milliseconds
from pipeline.tables.query import Row


def correct(arguments: Sequence[str]) -> int:
    """Runs the command; what is no option of its own is a setting, as for `run`."""
    own, settings = _parser().parse_known_args(arguments)
    chosen = Chosen(own.since, own.until, tuple(own.user), tuple(own.page), tuple(own.reason or REASONS))
    rows = apply_corrections(load_settings(settings, own.config), chosen, dry_run=own.dry_run)
    Console().print(_as_table(rows, dry_run=own.dry_run))
    return 0


def _as_table(rows: Iterable[Row], *, dry_run: bool) -> Table:
    done = "would be added" if dry_run else "added"
    table = Table(
        "report", "window (UTC)", *("page views", "clicks"), title=f"Too-late events, {done} to closed windows"
    )
    cells: dict[tuple[Any, ...], list[int]] = {}
    for row in rows:
        window = row[c.WINDOW_START_MS], row[c.WINDOW_END_MS]
        cell = cells.setdefault((row[c.REPORT], window if window[0] < window[1] else ()), [0, 0])
        cell[0] += row[c.PAGE_VIEWS]
        cell[1] += row[c.CLICKS]
    for (report, window), (views, clicks) in sorted(cells.items()):
        table.add_row(report, f"[{', '.join(map(_shown, window))})" if window else "all time", str(views), str(clicks))
    return table


def _shown(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tidemark correct",
        description="Adds too-late events to the closed windows they belong to, each once. Settings as for `run`.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--config", type=Path)
    add("--from", dest="since", type=iso_milliseconds, metavar="ISO TIME", help="events from this time on")
    add("--to", dest="until", type=iso_milliseconds, metavar="ISO TIME", help="events before this time")
    add("--user", action="append", default=[], help="of this user; may be given again")
    add("--page", action="append", default=[], help="of this page; may be given again")
    add("--reason", action="append", choices=[*REASONS, "future"], help="by default too_late and partly_late")
    add("--dry-run", action="store_true", help="show what would change, and change nothing")
    return parser
