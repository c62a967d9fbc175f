"""`tidemark correct`: adds too-late events to the closed windows that they belong to, each once.

It may run while the service runs: it changes only closed windows, which the service has published for the last time.
"""

from typing import Any

import click

from tidemark.command_line.counts import counted
from tidemark.command_line.terminal import Console, Table
from tidemark.pipeline import columns as c
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.instants import time_of
from tidemark.pipeline.settings.model import Settings


def correct(settings: Settings, chosen: LetterSelection, *, dry_run: bool) -> None:
    """Adds the chosen events, unless `dry_run`, and prints a table of the windows that they belong to."""
    table = Table("report", "window (UTC)", "page views", "clicks", "events", title=title_of(chosen, dry_run=dry_run))
    cells: dict[tuple[Any, ...], list[int]] = {}
    corrected = apply_corrections(settings, chosen, dry_run=dry_run)
    for row in corrected.rows:
        window = row[c.WINDOW_START_MS], row[c.WINDOW_END_MS]
        cell = cells.setdefault((row[c.REPORT], window if window[0] < window[1] else ()), [0, 0, 0])
        cell[0] += row[c.PAGE_VIEWS]
        cell[1] += row[c.CLICKS]
        cell[2] += 1
    for (report, window), counts in sorted(cells.items()):
        table.add_row(report, f"[{', '.join(map(time_of, window))})" if window else "all time", *map(str, counts))
    Console().print_rows(table)
    for name, events in sorted(corrected.waiting.items()):
        click.echo(f"Waiting for final windows: {counted(events, 'event')} of {name}. Run it again later.")
    for name, events in sorted((+corrected.uncorrectable).items()):
        click.echo(
            f"Cannot be added: {counted(events, 'event')} of {name}, whose closed windows have only the largest values "
            "of a dimension with a top. They stay in dead_letters."
        )


def title_of(chosen: LetterSelection, *, dry_run: bool) -> str:
    """Returns the title of the table."""
    events = "Rejected events that are valid today" if chosen.is_judged_again else "Too-late events"
    return f"{events}, {'would be added' if dry_run else 'added'} to closed windows"
