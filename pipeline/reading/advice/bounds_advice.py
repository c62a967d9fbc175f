"""`tidemark advise`: how many events other bounds would have dropped as too late, and the added delay of results."""

from collections.abc import Sequence
from typing import Final

from tidemark.command_line.counts import counted
from tidemark.command_line.terminal import Group, RenderableType, Table
from tidemark.pipeline.reading.advice.event_history import read_history
from tidemark.pipeline.reading.advice.tradeoff import Outcome, outcome_of
from tidemark.pipeline.settings.durations import write_milliseconds

_FACTORS: Final = (0, 0.25, 0.5, 1, 2, 3, 6)
"""Multiples of the current bound to estimate by default."""
_DEFAULT_BOUNDS_MS: Final = (0, 1_000, 5_000, 10_000, 30_000, 60_000)
"""Bounds to estimate by default if the current bound is zero."""
_NOTES: Final = (
    "Late: for a window at least, such as the shortest of overlapping or different windows. Too late: for all of them.",
    "Later: compared with the current bound, by the newest window that each batch fired.",
    "Ignored: idle partitions, and that the watermark waits after an increase of the bound.",
)


def outcomes_of(warehouse: str, bounds_ms: Sequence[int] = ()) -> tuple[list[Outcome], int, int]:
    """Returns the outcomes of `bounds_ms` and of the current bound, the current bound in ms, and a count of events.

    These events were read before there was a watermark, so that they are in no outcome.
    """
    history = read_history(warehouse)
    now_ms = history.bound_ms
    chosen = bounds_ms or ([int(now_ms * factor) for factor in _FACTORS] if now_ms else _DEFAULT_BOUNDS_MS)
    return [outcome_of(history, bound) for bound in sorted({*chosen, now_ms})], now_ms, history.unjudged


def render(outcomes: Sequence[Outcome], now_ms: int, unjudged: int) -> RenderableType:
    """Returns a table with a row for each bound; `now_ms` is the current bound, `unjudged` events are in no row."""
    table = Table(title=f"Estimates for {counted(outcomes[0].events, 'event')}")
    table.add_column("time.bound", no_wrap=True)
    for name in ("late", "too late", "share", "results later: median", "95th percentile"):
        table.add_column(name, justify="right")
    for outcome in outcomes:
        is_now = outcome.bound_ms == now_ms
        bound = write_milliseconds(outcome.bound_ms) + (" (now)" if is_now else "")
        late = f"{'' if outcome.is_late_exact else 'at least '}{outcome.late:,}"
        too_late = f"{outcome.too_late:,}", f"{outcome.too_late / outcome.events:.3%}"
        table.add_row(bound, late, *too_late, *_delay_texts(outcome), style="bold" if is_now else None)
    left_out = f"Left out: {counted(unjudged, 'event')} that were read before there was a watermark."
    return Group(table, *_NOTES, *([left_out] if unjudged else []))


def _delay_texts(outcome: Outcome) -> tuple[str, str]:
    if outcome.later_ms is None:
        return "not known yet", "not known yet"
    median, high = (f"{value / 1000:+,.1f} s" for value in outcome.later_ms)
    return median, high
