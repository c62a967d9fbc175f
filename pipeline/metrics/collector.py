"""Converts readings to the types of prometheus_client."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from prometheus_client import Metric as Family
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from tidemark.pipeline.metrics.histogram import Distribution
from tidemark.pipeline.metrics.metric import Metric, MetricKind
from tidemark.pipeline.metrics.metric_catalogue import CATALOGUE
from tidemark.pipeline.metrics.readings import Reading, Readings

_FAMILIES: Final[Mapping[MetricKind, Callable[..., Any]]] = {
    MetricKind.COUNTER: CounterMetricFamily,
    MetricKind.GAUGE: GaugeMetricFamily,
    MetricKind.HISTOGRAM: HistogramMetricFamily,
}


class Collector:
    """Collects one family for each metric of the catalogue, in its order; `readings` is called at each scrape."""

    def __init__(self, readings: Callable[[], Readings]) -> None:
        self._readings = readings

    def describe(self) -> Iterator[Family]:
        """Yields families without values, so that a scrape can select some by name."""
        return (_family(metric, {}) for metric in CATALOGUE)

    def collect(self) -> Iterator[Family]:
        """Yields a family for each metric."""
        readings = self._readings()
        return (_family(metric, readings.get(metric, {})) for metric in CATALOGUE)


def _family(metric: Metric, reading: Reading) -> Family:
    family = _FAMILIES[metric.kind](metric.name, metric.help, labels=metric.labels, unit=metric.unit)
    for labels, value in reading.items():
        family.add_metric(labels, *(value if isinstance(value, Distribution) else (value,)))
    return cast("Family", family)
