"""The verb `correct`."""

from typing import Any

import click

from tidemark.command_line.verbs import Verb
from tidemark.pipeline.commands.options import selection_options, settings_options
from tidemark.pipeline.settings.model import Settings


@click.command(
    cls=Verb,
    shows=["Usual settings"],
    examples=[
        "tidemark correct --config tidemark.toml --dry-run",
        "tidemark correct --config tidemark.toml --from 2024-05-01T00:00:00Z --user ann --reason too_late",
    ],
)
@selection_options("too_late", "partly_late", "future", by_default="too_late and partly_late")
@settings_options
def correct(settings: Settings, *, dry_run: bool, reasons: tuple[str, ...], **chosen: Any) -> None:
    """Adds too-late events to the closed windows that they belong to, each once.

    Reports and times that the settings do not name are those of the warehouse. Schemas and the key of pseudonyms must
    be those of the service. It may run while the service runs.
    """
    from tidemark.pipeline.amend.correction_run import correct as correct_events
    from tidemark.pipeline.amend.late_corrections import REASONS, LetterSelection

    correct_events(settings, LetterSelection(**chosen, reasons=reasons or REASONS), dry_run=dry_run)
