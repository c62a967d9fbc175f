"""The verb `advise`."""

from collections.abc import Sequence

import click

from command_line.types import Parsed
from command_line.verbs import Verb
from pipeline.commands.options import warehouse_option
from pipeline.settings.durations import milliseconds, parse_duration


def _bounds(text: str) -> list[int]:
    return [milliseconds(parse_duration(one)) for one in text.split(",") if one]


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
    type=Parsed("DURATION,...", _bounds),
    default="",
    help="By default some around the one of now.",
)
def advise(warehouse: str, bounds: Sequence[int]) -> None:
    """Tells what other values of time.bound would have made of a warehouse's events; needs no Spark."""
    from command_line.terminal import Console
    from pipeline.reading.advice.bounds_advice import outcomes_of, render

    Console().print(render(*outcomes_of(warehouse, bounds)))
