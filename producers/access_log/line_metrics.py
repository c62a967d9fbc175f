"""The counts of a run for Prometheus. They continue across restarts of the run."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from tidemark.http_server.metrics_server import serve_registry
from tidemark.producers.access_log.outcome import LineOutcome
from tidemark.producers.errors import SetUpError

LINES: Final = "tidemark_access_log_lines"


class LineCounts(Collector):
    """Counts the lines of committed transactions by outcome."""

    def __init__(self, name: str, counts: Counter[LineOutcome]) -> None:
        self._name = name
        self.committed = counts

    def collect(self) -> Iterator[Metric]:
        """Yields one metric with a series for each outcome, including those without lines."""
        family = CounterMetricFamily(LINES, "Lines of the log by outcome.", labels=["name", "outcome"])
        for outcome in LineOutcome:
            family.add_metric([self._name, outcome.value], self.committed[outcome])
        yield family


def serve(counts: LineCounts, host: str, port: int) -> None:
    """Serves `counts` until the process ends. Raises SetUpError if the port is not available."""
    registry = CollectorRegistry()
    registry.register(counts)
    try:
        serve_registry(registry, host, port)
    except OSError as error:
        raise SetUpError(f"cannot serve metrics at {host}:{port}: {error.strerror}; choose another port") from error
