"""Limits the number of new users and pages of an address, because each adds rows to every table."""

from collections import OrderedDict
from typing import Final

from tidemark.producers.collect.rates import Rates, client_key

PERIOD_S: Final = 3_600
REMEMBERED: Final = 500_000
"""Number of remembered values of all addresses together: about 60 MB."""


class Variety:
    """Admits at most `per_hour` new values per address, 0 for no limit.

    A value is new unless it is remembered; the least recently seen values are forgotten first.
    """

    def __init__(self, per_hour: int, remembered: int = REMEMBERED) -> None:
        self._is_limited = per_hour > 0
        self._new = Rates(per_hour / PERIOD_S, burst_s=PERIOD_S)
        self._remembered = remembered
        self._seen: OrderedDict[int, None] = OrderedDict()

    def admits(self, address: str, value: str, now_s: float) -> bool:
        """Returns whether `value` is remembered for `address` or may be added, and remembers it if so."""
        if not self._is_limited:
            return True
        digest = hash((client_key(address), value))
        if digest not in self._seen and not self._new.take(address, 1, now_s):
            return False
        self._seen[digest] = None
        self._seen.move_to_end(digest)
        if len(self._seen) > self._remembered:
            self._seen.popitem(last=False)
        return True
