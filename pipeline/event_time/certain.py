"""The watermark that is certain: no reset lowers it.

Upkeep and starts ask this module before they merge or remove panes, remove rows by age, or forget event ids.
Corrections do not (`amend/finality.py`), nor do reports that are taken out: they leave marks, by which a reset is
refused or a start keeps windows closed.

A producer's wrong clock may take the watermark ahead of the service's clock, until a person resets it. The end of an
input is a state and no time: what follows from it is taken back with it.
"""

from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.watermark import Frontier


def certain_watermark(frontier: Frontier, lag_ms: int, now: int) -> int | None:
    """Returns the certain watermark of a frontier, in milliseconds; None without a watermark.

    It is at least `lag_ms` before the service's clock, `now`. After the end of the input it is that of the slowest
    partition's events.
    """
    watermark = frontier.watermark
    if watermark == rules.END_OF_INPUT:
        times = [state.max_event_time for state in frontier.partitions.values() if state.max_event_time is not None]
        watermark = min(times) - lag_ms if times else None
    return None if watermark is None else min(watermark, now - lag_ms)
