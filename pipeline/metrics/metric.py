"""What a metric is."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What Prometheus may do with the numbers."""

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
    """What a person asks who looks at it."""
    note: str = ""
    """What else there is to know, for the documentation."""
    buckets: tuple[float, ...] = ()
