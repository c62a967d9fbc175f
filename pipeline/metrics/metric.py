"""The definition of a metric."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The type of a metric, as Prometheus knows it."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as it stands on the page; `unit` is the last word of its name, `buckets` are in that unit."""

    name: str
    kind: Kind
    unit: str
    help: str
    labels: tuple[str, ...]
    question: str
    """The question of the person who looks at it."""
    note: str = ""
    """Further sentences for the documentation."""
    buckets: tuple[float, ...] = ()
