"""The verb `run`: the service."""

from datetime import timedelta

import click

from command_line.verbs import Verb
from pipeline.commands.options import POSITIVE_DURATION, settings_options
from pipeline.settings.model import Settings


@click.command(
    cls=Verb,
    examples=[
        "tidemark run --bootstrap-servers kafka:9092 --topic events --warehouse /data/tidemark",
        "tidemark run --config tidemark.toml --until-caught-up",
        "tidemark run --config tidemark.toml --time.bound 30s --give-up-after 30m",
        "TIDEMARK_KAFKA__TOPIC=events tidemark run --config tidemark.toml",
    ],
)
@click.option("--until-caught-up", is_flag=True, help="Read to the current end of the topic, then exit.")
@click.option(
    "--give-up-after",
    type=POSITIVE_DURATION,
    help="Exit with code 1 if no attempt committed anything for this long, such as 30m; by default never.",
)
@settings_options
def run(settings: Settings, *, until_caught_up: bool, give_up_after: timedelta | None) -> None:
    """Reads the topic and updates the tables until SIGTERM or Ctrl-C.

    A new warehouse starts at `kafka.start`, an existing warehouse resumes from its ledger. The brokers, the topic
    and the warehouse must be set. Durations are written as 500ms, 30s, 10m, 12h or 7d.
    """
    from pipeline.commands.supervise import (
        catch_up,
        supervise,
    )  # not at the top, so that --help does not wait for Spark

    if until_caught_up:
        catch_up(settings)
    else:
        supervise(settings, give_up_after)
