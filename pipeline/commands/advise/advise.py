"""`tidemark advise`: how many events other bounds would have made too late, and how much later results would come."""

from collections.abc import Sequence
from typing import Final

from pipeline.commands.advise.history import read_history
from pipeline.commands.advise.tradeoff import Outcome, outcome

_PARTS: Final = (0, 0.25, 0.5, 1, 2, 3, 6)
"""The multiples of the bound of now that are shown where no bounds are asked for."""
_WHERE_IT_IS_ZERO: Final = (0, 1_000, 5_000, 10_000, 30_000, 60_000)
"""The bounds, in milliseconds, that are shown instead where the bound of now is zero."""


def outcomes_of(warehouse: str, bounds_ms: Sequence[int] = ()) -> tuple[list[Outcome], int]:
    """Returns the outcome of each bound and the bound of now, in milliseconds, which is always among them."""
    history = read_history(warehouse)
    now_ms = history.bound_ms
    chosen = bounds_ms or ([int(now_ms * part) for part in _PARTS] if now_ms else _WHERE_IT_IS_ZERO)
    return [outcome(history, bound) for bound in sorted({*chosen, now_ms})], now_ms
