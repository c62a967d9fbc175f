"""`tidemark health`: what the service beside it answers to `/healthz`, found by the settings that both have."""

from collections.abc import Sequence
from urllib.error import HTTPError

import click

from command_line.verbs import Verb
from pipeline.commands.options import settings_options
from pipeline.commands.page import address_of, open_page
from pipeline.errors import TransientError
from pipeline.settings.load import settings_of
from pipeline.settings.model import MetricsSettings
from pipeline.settings.sources import Source


@click.command(cls=Verb, examples=["tidemark health --config tidemark.toml", "tidemark health --metrics.port 9477"])
@settings_options
def health(sources: Sequence[Source]) -> int:
    """Asks the service beside it whether it is well, at the address of the settings that both have.

    Exit code 0: it is, and says so. 1: it is not, or none answers.
    """
    click.echo(_ask(settings_of(sources).metrics))
    return 0


def _ask(metrics: MetricsSettings) -> str:
    try:
        with open_page(metrics, "/healthz") as page:
            return str(page.read().decode().strip())
    except HTTPError as error:
        raise TransientError(error.read().decode().strip()) from error
    except OSError as error:
        raise TransientError(f"no service answers at {address_of(metrics, '/healthz')}: {error}") from error
