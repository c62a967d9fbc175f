"""A histogram that takes many equal observations at once."""

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client import Histogram as TheirHistogram

from tidemark.pipeline.metrics.histogram import Histogram

BOUNDS = (0.5, 1.0, 10.0)


def test_a_bound_belongs_to_its_bucket_and_buckets_are_cumulated() -> None:
    histogram = Histogram(BOUNDS)
    histogram.add(1.0, 3)
    histogram.add(1.5, 2)
    histogram.add(11.0)
    read = histogram.read()
    assert read.buckets == (("0.5", 0), ("1.0", 3), ("10.0", 5), ("+Inf", 6))
    assert read.total == 3 * 1.0 + 2 * 1.5 + 11.0


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 5))))
def test_adding_n_at_once_is_what_prometheus_client_counts_one_by_one(added: list[tuple[int, int]]) -> None:
    ours, registry = Histogram(BOUNDS), CollectorRegistry()
    theirs = TheirHistogram("it", "theirs", registry=registry, buckets=BOUNDS)
    for value, times in added:
        ours.add(value, times)
        for _ in range(times):
            theirs.observe(value)
    for name, count in ours.read().buckets:
        assert registry.get_sample_value("it_bucket", {"le": name}) == count
    assert registry.get_sample_value("it_sum") == ours.read().total
