"""Readings as prometheus_client wants them."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import Metric as Family
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from pipeline.metrics.catalogue import CATALOGUE
from pipeline.metrics.histogram import Distribution
from pipeline.metrics.metric import Kind, Metric
from pipeline.metrics.readings import Labels, Readings


class Page:
    """A collector whose families are the catalogue, in its order, with what `readings` returns at the scrape."""

    def __init__(self, readings: Callable[[], Readings]) -> None:
        self._readings = readings

    def describe(self) -> Iterator[Family]:
        """The names, so that a scrape may ask for some only."""
        return (_family(metric, Readings({}, {})) for metric in CATALOGUE)

    def collect(self) -> Iterator[Family]:
        """One family per metric."""
        readings = self._readings()
        return (_family(metric, readings) for metric in CATALOGUE)


def _family(metric: Metric, readings: Readings) -> Family:
    if metric.kind is Kind.HISTOGRAM:
        return _histogram(metric, readings.distributions.get(metric, {}))
    return _numbers(metric, readings.values.get(metric, {}))


def _histogram(metric: Metric, distributions: Mapping[Labels, Distribution]) -> Family:
    family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels, unit=metric.unit)
    for labels, distribution in distributions.items():
        family.add_metric(labels, distribution.buckets, distribution.total)
    return family


def _numbers(metric: Metric, values: Mapping[Labels, float]) -> Family:
    kind = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
    family = kind(metric.name, metric.help, labels=metric.labels, unit=metric.unit)
    for labels, value in values.items():
        family.add_metric(labels, value)
    return family
