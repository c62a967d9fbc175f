"""`tidemark advise`: how many events other bounds would have made too late, and how much later results would come."""

from collections.abc import Sequence
from typing import Final

from command_line.terminal import Group, RenderableType, Table
from pipeline.reading.advice.event_history import read_history
from pipeline.reading.advice.tradeoff import Outcome, outcome_of
from pipeline.settings.durations import write_milliseconds

_PARTS: Final = (0, 0.25, 0.5, 1, 2, 3, 6)
"""The multiples of the bound of now that are shown where no bounds are asked for."""
_WHERE_IT_IS_ZERO: Final = (0, 1_000, 5_000, 10_000, 30_000, 60_000)
"""The bounds, in milliseconds, that are shown instead where the bound of now is zero."""
_NOTES: Final = (
    "Too late: for every report.",
    "Later: by the clock, against the bound of now, over the newest window that each batch fired.",
    "Left aside: idle partitions, and that the watermark waits where a larger bound was set.",
)


def outcomes_of(warehouse: str, bounds_ms: Sequence[int] = ()) -> tuple[list[Outcome], int]:
    """Returns the outcome of each bound and the bound of now, in milliseconds, which is always among them."""
    history = read_history(warehouse)
    now_ms = history.bound_ms
    chosen = bounds_ms or ([int(now_ms * part) for part in _PARTS] if now_ms else _WHERE_IT_IS_ZERO)
    return [outcome_of(history, bound) for bound in sorted({*chosen, now_ms})], now_ms


def render(outcomes: Sequence[Outcome], now_ms: int) -> RenderableType:
    """A row for each bound; `now_ms` is the bound of now."""
    table = Table(title=f"What other bounds would have made of {outcomes[0].events:,} events")
    table.add_column("time.bound", no_wrap=True)
    for name in ("too late", "share", "results later: median", "95th percentile"):
        table.add_column(name, justify="right")
    for one in outcomes:
        is_now = one.bound_ms == now_ms
        bound = write_milliseconds(one.bound_ms) + (" (now)" if is_now else "")
        too_late = f"{one.too_late:,}", f"{one.too_late / one.events:.3%}"
        table.add_row(bound, *too_late, *_later(one), style="bold" if is_now else None)
    return Group(table, *_NOTES)


def _later(one: Outcome) -> tuple[str, str]:
    if one.later_ms is None:
        return "not known yet", "not known yet"
    median, high = (f"{value / 1000:+,.1f} s" for value in one.later_ms)
    return median, high
