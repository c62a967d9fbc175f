"""The definition of a metric."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_NO_UNITS: Final = ("epoch", "idle", "info")
"""Last words of the names of metrics without a unit."""


class MetricKind(StrEnum):
    """The Prometheus type of a metric."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric; `buckets` are in its unit."""

    name: str
    kind: MetricKind
    help: str
    labels: tuple[str, ...]
    question: str
    """The question that the metric answers."""
    note: str = ""
    """Further sentences for the documentation."""
    buckets: tuple[float, ...] = ()

    @property
    def unit(self) -> str:
        """The unit: the last word of the name; empty if that is not a unit."""
        last = self.name.removesuffix("_total").rpartition("_")[2]
        return "" if last in _NO_UNITS else last
