"""The verb `health`."""

from urllib.error import HTTPError

import click

from tidemark.command_line.printable import say
from tidemark.command_line.verbs import Verb
from tidemark.pipeline.commands.options import settings_options
from tidemark.pipeline.errors import TransientError
from tidemark.pipeline.settings.model import Settings


@click.command(
    cls=Verb,
    shows=["metrics:"],
    examples=["tidemark health --config tidemark.toml", "tidemark health --metrics.port 9477"],
)
@settings_options
def health(settings: Settings) -> None:
    """Asks the service on this host for its health, at `metrics.host` and `metrics.port`.

    Exit code 0: it is healthy. 1: it is unhealthy, does not answer, or writes another warehouse.
    """
    from tidemark.pipeline.reading.health_client import NO_ANSWER, no_answer, of_another, open_page

    try:
        with open_page(settings.metrics, "/healthz") as page:
            if other := of_another(page.headers, settings.metrics, settings.warehouse):
                raise TransientError(other)
            say(page.read().decode().strip())
    except HTTPError as error:
        raise TransientError(error.read().decode().strip()) from error
    except NO_ANSWER as error:
        raise TransientError(no_answer(settings.metrics, error)) from error
