"""The verb `simulate`."""

from argparse import Namespace
from typing import Any, Final

import click

from tidemark.command_line.verbs import Verb
from tidemark.producers import command_simulate
from tidemark.producers.options import simulate_options


def _simulate(**options: Any) -> int:
    click.echo(command_simulate.execute(Namespace(**options)))
    return 0


simulate: Final = Verb(
    "simulate",
    callback=_simulate,
    params=simulate_options(),
    help="Simulates the users of a site and sends their events, with known disorder, until the end or Ctrl-C.",
    context_settings={"show_default": True},
    examples=[
        "producers simulate --bootstrap-servers kafka:9092 --topic events --rate 2000 --late-share 0.01",
        "producers simulate --topic events --rate 0 --events 1_000_000 --event-rate 500 --truth truth.json",
        "producers simulate --rate 0 --event-rate 500 --start-time 2024-05-01T00:00:00Z --name backfill",
        "producers simulate --topic events --create-topic --format json",
    ],
)
