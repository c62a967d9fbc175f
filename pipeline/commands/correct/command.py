"""The verb `correct`."""

from collections.abc import Sequence
from typing import Any

import click

from command_line.verbs import Verb
from pipeline.commands.options import TIME, settings_options
from pipeline.settings.load import settings_of
from pipeline.settings.sources import Source


@click.command(
    cls=Verb,
    examples=[
        "tidemark correct --config tidemark.toml --dry-run",
        "tidemark correct --config tidemark.toml --from 2024-05-01T00:00:00Z --user ann --reason too_late",
    ],
)
@click.option("--from", "since", type=TIME, help="Events from this time on, as 2024-05-01T12:00:00Z.")
@click.option("--to", "until", type=TIME, help="Events before this time.")
@click.option("--user", "users", multiple=True, metavar="ID", help="Of this user; may be given again.")
@click.option("--page", "pages", multiple=True, metavar="URL", help="Of this page; may be given again.")
@click.option(
    "--reason",
    "reasons",
    multiple=True,
    type=click.Choice(["too_late", "partly_late", "future"]),
    help="Why they are dead letters; may be given again. By default too_late and partly_late.",
)
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@settings_options
def correct(sources: Sequence[Source], *, dry_run: bool, reasons: tuple[str, ...], **chosen: Any) -> int:
    """Adds too-late events to the closed windows that they belong to, each once.

    It takes the settings that the service has, and may run beside it.
    """
    from pipeline.commands.correct.correct import correct as do
    from pipeline.commands.correct.late import REASONS, Chosen

    do(settings_of(sources), Chosen(**chosen, reasons=reasons or REASONS), dry_run=dry_run)
    return 0
