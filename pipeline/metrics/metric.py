"""The definition of a metric."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_NO_UNITS: Final = ("epoch", "idle", "info")
"""Last words of names whose values are plain numbers."""


class MetricKind(StrEnum):
    """The type of a metric, as Prometheus knows it."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as it stands on the page; `buckets` are in its unit."""

    name: str
    kind: MetricKind
    help: str
    labels: tuple[str, ...]
    question: str
    """The question of the person who looks at it."""
    note: str = ""
    """Further sentences for the documentation."""
    buckets: tuple[float, ...] = ()

    @property
    def unit(self) -> str:
        """The last word of its name; empty where that is none."""
        last = self.name.removesuffix("_total").rpartition("_")[2]
        return "" if last in _NO_UNITS else last
