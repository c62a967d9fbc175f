"""`tidemark advise`: how many events other bounds would have made too late, and how much later results would come."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from pipeline.durations import milliseconds, parse_duration
from pipeline.errors import SetUpError
from pipeline.history import read_history
from pipeline.observe.picture import FORMATS, draw
from pipeline.observe.tradeoff import render
from pipeline.options import add_warehouse
from pipeline.time.tradeoff import Outcome, outcome

_PARTS: Final = (0, 0.25, 0.5, 1, 2, 3, 6)
"""Of the bound of now, where no others are asked for."""
_WHERE_IT_IS_ZERO: Final = (0, 1_000, 5_000, 10_000, 30_000, 60_000)


def advise(arguments: Sequence[str], console: Console | None = None) -> int:
    """Runs the command. Raises SetUpError where there is nothing to go by."""
    own = _parser().parse_args(arguments)
    if own.picture and own.picture.suffix not in FORMATS:
        raise SetUpError(f"the picture {own.picture} must be named after its format: {', '.join(FORMATS)}")
    outcomes, now_ms = outcomes_of(own.warehouse, _bounds(own.bounds))
    (console or Console()).print(render(outcomes, now_ms))
    if own.picture:
        draw(outcomes, now_ms, own.picture)
    return 0


def outcomes_of(warehouse: str, bounds_ms: Sequence[int] = ()) -> tuple[list[Outcome], int]:
    """What bounds would have made of a warehouse, that of now always among them; and the bound of now."""
    history = read_history(warehouse)
    now_ms = history.bound_ms
    chosen = bounds_ms or ([int(now_ms * part) for part in _PARTS] if now_ms else _WHERE_IT_IS_ZERO)
    return [outcome(history, bound) for bound in sorted({*chosen, now_ms})], now_ms


def _bounds(text: str) -> list[int]:
    try:
        return [milliseconds(parse_duration(one)) for one in text.split(",") if one]
    except ValueError as error:
        raise SetUpError(f"--bounds: {error}") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tidemark advise",
        description="What other values of time.bound would have made of a warehouse's events. Needs no Spark.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add_warehouse(parser)
    add("--bounds", default="", metavar="0s,10s,1m", help="by default some around the bound of now")
    add("--picture", type=Path, metavar="FILE", help=f"draw it too ({', '.join(FORMATS)}); needs tidemark[picture]")
    return parser
