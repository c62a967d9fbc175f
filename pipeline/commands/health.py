"""`tidemark health`: what the service beside it answers to `/healthz`, found by the settings that both have."""

from urllib.error import HTTPError

import click

from command_line.printable import say
from command_line.verbs import Verb
from pipeline.commands.options import settings_options
from pipeline.errors import TransientError
from pipeline.reading.health_client import endpoint_url, open_page
from pipeline.settings.model import Settings


@click.command(cls=Verb, examples=["tidemark health --config tidemark.toml", "tidemark health --metrics.port 9477"])
@settings_options
def health(settings: Settings) -> None:
    """Asks the service beside it whether it is well, at the address of the settings that both have.

    Exit code 0: it is, and says so. 1: it is not, or none answers.
    """
    try:
        with open_page(settings.metrics, "/healthz") as page:
            say(page.read().decode().strip())
    except HTTPError as error:
        raise TransientError(error.read().decode().strip()) from error
    except OSError as error:
        raise TransientError(f"no service answers at {endpoint_url(settings.metrics, '/healthz')}: {error}") from error
