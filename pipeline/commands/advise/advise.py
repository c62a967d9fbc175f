"""`tidemark advise`: how many events other bounds would have made too late, and how much later results would come."""

import argparse
from collections.abc import Sequence
from typing import Final

from rich.console import Console

from pipeline.commands.advise.history import read_history
from pipeline.commands.advise.table import render
from pipeline.commands.advise.tradeoff import Outcome, outcome
from pipeline.commands.options import add_warehouse
from pipeline.errors import SetUpError
from pipeline.settings.durations import milliseconds, parse_duration

_PARTS: Final = (0, 0.25, 0.5, 1, 2, 3, 6)
"""The multiples of the bound of now that are shown where no bounds are asked for."""
_WHERE_IT_IS_ZERO: Final = (0, 1_000, 5_000, 10_000, 30_000, 60_000)
"""The bounds, in milliseconds, that are shown instead where the bound of now is zero."""


def advise(arguments: Sequence[str], console: Console | None = None) -> int:
    """Runs `tidemark advise`; returns exit code 0. Raises SetUpError for a warehouse without events or a bound."""
    own = _parser().parse_args(arguments)
    outcomes, now_ms = outcomes_of(own.warehouse, _bounds(own.bounds))
    (console or Console()).print(render(outcomes, now_ms))
    return 0


def outcomes_of(warehouse: str, bounds_ms: Sequence[int] = ()) -> tuple[list[Outcome], int]:
    """Returns the outcome of each bound and the bound of now, in milliseconds, which is always among them."""
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
    add_warehouse(parser)
    parser.add_argument("--bounds", default="", metavar="0s,10s,1m", help="by default some around the bound of now")
    return parser
