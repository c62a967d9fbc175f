"""A histogram that takes many equal observations in one call, unlike that of prometheus_client."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple


class Distribution(NamedTuple):
    """A snapshot of a histogram: (upper bound, observations up to it) in order, ending with +Inf, and their sum."""

    buckets: tuple[tuple[str, float], ...]
    total: float


class Histogram:
    """Counts observations by upper bounds, which are inclusive, as in Prometheus."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(map(float, bounds))
        self._counts = [0] * (len(bounds) + 1)
        self._total = 0.0

    def add(self, value: float, times: int = 1) -> None:
        """Adds `times` observations of `value`."""
        self._counts[bisect_left(self._bounds, value)] += times
        self._total += value * times

    def read(self) -> Distribution:
        """Returns the cumulative counts."""
        names = (*map(str, self._bounds), "+Inf")
        return Distribution(tuple(zip(names, accumulate(self._counts), strict=True)), self._total)
