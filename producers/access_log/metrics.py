"""The counts of a run for Prometheus. They go on over restarts, as the run does."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from producers.access_log.outcome import Outcome
from producers.errors import SetupError

LINES: Final = "tidemark_access_log_lines"


class Counts(Collector):
    """The lines whose transaction is committed, by outcome."""

    def __init__(self, name: str, counts: Counter[Outcome]) -> None:
        self._name = name
        self.committed = counts

    def collect(self) -> Iterator[Metric]:
        """One series for each outcome, from the start on."""
        family = CounterMetricFamily(LINES, "Lines of the log by what became of them.", labels=["name", "outcome"])
        for outcome in Outcome:
            family.add_metric([self._name, outcome.value], self.committed[outcome])
        yield family


def serve(counts: Counts, host: str, port: int) -> None:
    """Serves the counts while the process lives. Raises SetupError if the port cannot be had."""
    registry = CollectorRegistry()
    registry.register(counts)
    try:
        start_http_server(port, host, registry)
    except OSError as error:
        raise SetupError(f"no metrics can be served at {host}:{port}: {error.strerror}; take another port") from error
