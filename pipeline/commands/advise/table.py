"""Outcomes of bounds, for a terminal."""

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table

from pipeline.commands.advise.tradeoff import Outcome
from pipeline.settings.durations import write_milliseconds

_NOTE: Final = (
    "Too late: for every report. Later: by the clock, against the bound of now, over the newest window that each batch "
    "fired.\nLeft aside: idle partitions, and that the watermark waits where a larger bound was set."
)


def render(outcomes: Sequence[Outcome], now_ms: int) -> RenderableType:
    """A row for each bound; `now_ms` is the bound of now."""
    table = Table(title=f"What other bounds would have made of {outcomes[0].events:,} events")
    table.add_column("time.bound", no_wrap=True)
    for name in ("too late", "share", "results later: median", "95th percentile"):
        table.add_column(name, justify="right")
    for one in outcomes:
        is_now = one.bound_ms == now_ms
        bound = write_milliseconds(one.bound_ms) + (" (now)" if is_now else "")
        table.add_row(bound, f"{one.too_late:,}", f"{one.share:.3%}", *_later(one), style="bold" if is_now else None)
    return Group(table, _NOTE)


def _later(one: Outcome) -> tuple[str, str]:
    if one.later_ms is None:
        return "not known yet", "not known yet"
    median, high = (f"{value / 1000:+,.1f} s" for value in one.later_ms)
    return median, high
