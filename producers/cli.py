"""The `producers` command. Exit codes: 0 success, 1 not all delivered, 2 configuration error."""

from argparse import Namespace
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Final

import click

from tidemark.command_line.completion import completion_of
from tidemark.command_line.main import run
from tidemark.command_line.printable import say
from tidemark.command_line.verbs import Verb
from tidemark.producers import command_simulate
from tidemark.producers.access_log.command import access_log
from tidemark.producers.collect.command import collect
from tidemark.producers.errors import ProducerError
from tidemark.producers.options import simulate_options


def _simulate(**options: Any) -> int:
    click.echo(command_simulate.execute(Namespace(**options)))
    return 0


producers: Final = click.Group(
    "producers",
    help="Send user events to Kafka.\n\nExit codes: 0 success, 1 not all events were delivered, 2 configuration error.",
)
producers.add_command(
    Verb(
        "simulate",
        callback=_simulate,
        params=simulate_options(),
        short_help="Simulate a site, with late and malformed events.",
        help="Simulates the users of a site and sends their events, with known disorder, until the end or Ctrl-C.",
        context_settings={"show_default": True},
        examples=[
            "producers simulate --bootstrap-servers kafka:9092 --topic events --rate 2000 --late-share 0.01",
            "producers simulate --topic events --rate 0 --events 1_000_000 --event-rate 500 --truth truth.json",
            "producers simulate --rate 0 --event-rate 500 --start-time 2024-05-01T00:00:00Z --name backfill",
            "producers simulate --topic events --create-topic --format json",
        ],
    )
)
producers.add_command(access_log)
producers.add_command(collect)
producers.add_command(completion_of("producers"))
click.version_option(version("tidemark-lake"), message="%(prog)s %(version)s")(producers)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; prints an error as one sentence."""
    try:
        return run(producers, argv)
    except ProducerError as error:
        say(f"producers: {error}", err=True)
        return error.exit_code
