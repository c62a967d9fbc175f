"""How much smaller the bound could have been before a counted event would have come too late."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from pipeline.event_time.lateness import too_late_at
from pipeline.event_time.policy import Policy
from pipeline.event_time.strategies import Bounded

_DIGITS: Final = 3


def slack(counted: Mapping[int, int], watermark: int | None, policy: Policy) -> dict[int, int]:
    """Milliseconds of slack -> counted events, given those of a batch by pane and the watermark from before it.

    With a bound smaller by the slack the watermark would have been that much higher, and the events too late. So
    what has more slack than the bound itself is not told: no bound is below zero. Of sessions it is right to a pane's
    length. Empty where no bound moves the watermark.
    """
    if watermark is None or not isinstance(policy.strategy, Bounded):
        return {}
    found, bound_ms = Counter[int](), policy.strategy.bound_ms
    # Rounded up to three digits of the bound, so that short panes under a long bound do not fill the ledger.
    step = 10 ** max(len(str(bound_ms)) - _DIGITS, 0)
    for pane, records in counted.items():
        ahead = max(1, too_late_at(policy.reports, pane) - watermark)
        if ahead <= bound_ms:
            found[-(-ahead // step) * step] += records
    return dict(sorted(found.items()))
