"""The verb `advise`."""

from collections.abc import Sequence
from datetime import timedelta

import click

from command_line.verbs import Verb
from pipeline.commands.options import DURATIONS, warehouse_option
from pipeline.settings.durations import milliseconds


@click.command(
    cls=Verb,
    examples=[
        "tidemark advise --warehouse /data/tidemark",
        "tidemark advise --warehouse /data/tidemark --bounds 0s,5s,1m",
    ],
)
@warehouse_option
@click.option(
    "--bounds",
    type=DURATIONS,
    default="",
    help="By default some around the one of now.",
)
def advise(warehouse: str, bounds: Sequence[timedelta]) -> int:
    """Tells what other values of time.bound would have made of a warehouse's events; needs no Spark."""
    from rich.console import Console

    from pipeline.commands.advise.advise import outcomes_of
    from pipeline.commands.advise.table import render

    outcomes, now_ms = outcomes_of(warehouse, [milliseconds(bound) for bound in bounds])
    Console().print(render(outcomes, now_ms))
    return 0
