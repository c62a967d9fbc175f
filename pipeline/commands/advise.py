"""The verb `advise`."""

from collections.abc import Sequence

import click

from tidemark.command_line.types import Parsed
from tidemark.command_line.verbs import Verb
from tidemark.pipeline.commands.options import warehouse_option
from tidemark.pipeline.settings.durations import milliseconds, parse_duration


def _bounds(text: str) -> list[int]:
    return [milliseconds(parse_duration(bound)) for bound in text.split(",") if bound]


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
    help="Bounds to estimate; by default multiples of the current one.",
)
def advise(warehouse: str, bounds: Sequence[int]) -> None:
    """Estimates how many events other values of time.bound would have counted, and the added delay; needs no Spark."""
    from tidemark.command_line.terminal import Console
    from tidemark.pipeline.reading.advice.bounds_advice import outcomes_of, render

    Console().print(render(*outcomes_of(warehouse, bounds)))
