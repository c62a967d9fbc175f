"""The `producers` command. Exit codes: 0 success, 1 not all delivered, 2 configuration error."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Final

import click

from tidemark.command_line.completion import completion_of
from tidemark.command_line.main import run
from tidemark.command_line.printable import say
from tidemark.command_line.verbs import Verbs
from tidemark.producers.errors import ProducerError

_VERBS: Final = {
    "simulate": ("tidemark.producers.command_simulate:simulate", "Simulate a site, with late and malformed events."),
    "access-log": ("tidemark.producers.access_log.command:access_log", "Send visits from a web server's access log."),
    "collect": ("tidemark.producers.collect.command:collect", "Collect visits and clicks from browsers."),
}
producers: Final = Verbs(
    "producers",
    _VERBS,
    help="Send user events to Kafka.\n\nExit codes: 0 success, 1 not all events were delivered, 2 configuration error.",
)
producers.add_command(completion_of("producers"))
click.version_option(version("tidemark-lake"), message="%(prog)s %(version)s")(producers)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; prints an error as one sentence."""
    try:
        return run(producers, argv)
    except ProducerError as error:
        say(f"producers: {error}", err=True)
        return error.exit_code
