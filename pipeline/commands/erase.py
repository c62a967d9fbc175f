"""The verb `erase`."""

import click

from command_line.types import named
from command_line.verbs import Verb
from pipeline.commands.options import settings_options
from pipeline.settings.model import Settings


@click.command(
    cls=Verb,
    examples=[
        "tidemark erase --config tidemark.toml --user ann",
        "tidemark erase --config tidemark.toml --user ann --yes",
        "tidemark erase --config tidemark.toml --user ann --yes --drop-later",
        "tidemark erase --config tidemark.toml --user ann --keep-later",
    ],
)
@click.option("--user", required=True, type=named("ID"), help="Whom; in clear, also where the tables have pseudonyms.")
@click.option("--yes", is_flag=True, help="Do it; without it nothing is changed.")
@click.option("--drop-later", is_flag=True, help="Have the service drop later events of the user, too.")
@click.option("--keep-later", is_flag=True, help="Only take that back: later events are counted again.")
@settings_options
def erase(settings: Settings, *, user: str, yes: bool, drop_later: bool, keep_later: bool) -> None:
    """Takes a person out of every table and of every file below them. It cannot be undone.

    It takes the settings that the service has, and may run beside it, be killed and run again. Earlier versions of the
    tables cannot be read after it.
    """
    from pipeline.amend.erase.erasure import count_again
    from pipeline.amend.erase.erasure import erase as do

    if keep_later and (yes or drop_later):
        raise click.UsageError("--keep-later erases nothing: say it without --yes and --drop-later")
    if keep_later:
        count_again(settings, user)
    else:
        do(settings, user, does_it=yes, drops_later=drop_later)
