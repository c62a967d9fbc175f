"""The metrics of a process, as Prometheus has them."""

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector


def names_of(collector: Collector) -> set[str]:
    """Returns the names of its metrics, those of counters with `_total`."""
    return {f"{each.name}_total" if each.type == "counter" else each.name for each in collector.collect()}


def values_of(page: str, name: str, label: str) -> dict[str, float]:
    """Returns the values of a metric on a page by `label`, which is empty if the metric has no labels."""
    samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    return {sample.labels.get(label, ""): sample.value for sample in samples if sample.name == name}
