"""The verb `erase`."""

from collections.abc import Sequence

import click

from command_line.verbs import Verb
from pipeline.commands.options import settings_options
from pipeline.settings.load import settings_of
from pipeline.settings.sources import Source


@click.command(
    cls=Verb,
    examples=[
        "tidemark erase --config tidemark.toml --user ann",
        "tidemark erase --config tidemark.toml --user ann --yes",
    ],
)
@click.option("--user", required=True, metavar="ID", help="Whom; in clear, also where the tables have pseudonyms.")
@click.option("--yes", is_flag=True, help="Do it; without it nothing is changed.")
@settings_options
def erase(sources: Sequence[Source], *, user: str, yes: bool) -> int:
    """Takes a person out of every table and of every file below them. It cannot be undone.

    It takes the settings that the service has, and may run beside it, be killed and run again. Earlier versions of the
    tables cannot be read after it.
    """
    from pipeline.commands.erase.erase import erase as do

    do(settings_of(sources), user, does_it=yes)
    return 0
