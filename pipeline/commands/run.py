"""The verb `run`: the service."""

from datetime import timedelta

import click

from tidemark.command_line.verbs import Verb
from tidemark.pipeline.commands.options import POSITIVE_DURATION, settings_options
from tidemark.pipeline.settings.model import Settings


@click.command(
    cls=Verb,
    examples=[
        "tidemark run --bootstrap-servers kafka:9092 --topic events --warehouse /data/tidemark",
        "tidemark run --config tidemark.toml --until-caught-up",
        "tidemark run --config tidemark.toml --end-of-input",
        "tidemark run --config tidemark.toml --time.bound 30s --give-up-after 30m",
        "TIDEMARK_KAFKA__TOPIC=events tidemark run --config tidemark.toml",
    ],
)
@click.option("--until-caught-up", is_flag=True, help="Read to the current end of the topic, then exit.")
@click.option(
    "--end-of-input",
    is_flag=True,
    help="The topic is complete: like --until-caught-up, then all windows fire and close. Later events are too late.",
)
@click.option(
    "--give-up-after",
    type=POSITIVE_DURATION,
    help="Exit with code 1 if no attempt committed anything for this long, such as 30m; by default never.",
)
@settings_options
def run(settings: Settings, *, until_caught_up: bool, end_of_input: bool, give_up_after: timedelta | None) -> None:
    """Reads the topic and updates the tables until SIGTERM or Ctrl-C.

    A new warehouse starts at `kafka.start`, an existing warehouse resumes from its ledger. The brokers, the topic
    and the warehouse must be set. Durations are written as 500ms, 30s, 10m, 12h or 7d.
    """
    # Not at the top, so that --help does not wait for Spark.
    from tidemark.pipeline.commands.supervise import catch_up, supervise

    if until_caught_up or end_of_input:
        catch_up(settings, ends_input=end_of_input)
    else:
        supervise(settings, give_up_after)
