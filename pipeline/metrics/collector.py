"""Readings as prometheus_client wants them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from prometheus_client import Metric as Family
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from pipeline.metrics.histogram import Distribution
from pipeline.metrics.metric import Metric, MetricKind
from pipeline.metrics.metric_catalogue import CATALOGUE
from pipeline.metrics.readings import Reading, Readings

_FAMILIES: Final[Mapping[MetricKind, Callable[..., Any]]] = {
    MetricKind.COUNTER: CounterMetricFamily,
    MetricKind.GAUGE: GaugeMetricFamily,
    MetricKind.HISTOGRAM: HistogramMetricFamily,
}


class Collector:
    """A collector whose families are the catalogue, in its order, with what `readings` returns at the scrape."""

    def __init__(self, readings: Callable[[], Readings]) -> None:
        self._readings = readings

    def describe(self) -> Iterator[Family]:
        """The names, so that a scrape may ask for some only."""
        return (_family(metric, {}) for metric in CATALOGUE)

    def collect(self) -> Iterator[Family]:
        """One family per metric."""
        readings = self._readings()
        return (_family(metric, readings.get(metric, {})) for metric in CATALOGUE)


def _family(metric: Metric, reading: Reading) -> Family:
    family = _FAMILIES[metric.kind](metric.name, metric.help, labels=metric.labels, unit=metric.unit)
    for labels, value in reading.items():
        family.add_metric(labels, *(value if isinstance(value, Distribution) else (value,)))
    return cast("Family", family)
