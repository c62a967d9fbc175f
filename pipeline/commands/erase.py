"""The verb `erase`."""

import click

from tidemark.command_line.types import named
from tidemark.command_line.verbs import Verb
from tidemark.pipeline.commands.options import settings_options
from tidemark.pipeline.settings.model import Settings


@click.command(
    cls=Verb,
    shows=["Usual settings"],
    examples=[
        "tidemark erase --config tidemark.toml --user ann",
        "tidemark erase --config tidemark.toml --user ann --yes",
        "tidemark erase --config tidemark.toml --user ann --yes --drop-later",
        "tidemark erase --config tidemark.toml --user ann --keep-later",
    ],
)
@click.option("--user", required=True, type=named("ID"), help="User id, in clear even if the tables have pseudonyms.")
@click.option("--yes", is_flag=True, help="Erase; without it nothing is changed.")
@click.option("--drop-later", is_flag=True, help="Also drop later events of the user.")
@click.option("--keep-later", is_flag=True, help="Undo --drop-later: count later events of the user again.")
@settings_options
def erase(settings: Settings, *, user: str, yes: bool, drop_later: bool, keep_later: bool) -> None:
    """Erases a user from every table and every file of the tables. It cannot be undone.

    It needs the settings of the service, may run while the service runs, and may be killed and run again. Earlier
    versions of the tables cannot be read afterwards. If no table has a row of the user, the exit code is 3.
    """
    from tidemark.pipeline.amend.erase.erasure import count_again
    from tidemark.pipeline.amend.erase.erasure import erase as erase_user

    if keep_later and (yes or drop_later):
        raise click.UsageError("--keep-later erases nothing: use it without --yes and --drop-later")
    if keep_later:
        count_again(settings, user)
    else:
        erase_user(settings, user, confirmed=yes, drops_later=drop_later)
