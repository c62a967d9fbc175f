"""The counts of a run for Prometheus. They go on over restarts, as the run does."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.routing import Route

from http_server.background import Background
from http_server.exposition import Exposition
from http_server.limits import Limits
from http_server.listening import listen
from http_server.server import Server
from producers.access_log.outcome import Outcome
from producers.errors import SetupError

LINES: Final = "tidemark_access_log_lines"
_LIMITS: Final = Limits(connections=64, request_s=30)


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
        listening = listen(host, port)
    except OSError as error:
        why = str(error.strerror).partition(" (while")[0]  # Python names the address again
        raise SetupError(f"no metrics can be served at {host}:{port}: {why}; take another port") from error
    page = Starlette(routes=[Route("/metrics", Exposition(registry).answer)])
    Background(Server(page, _LIMITS), listening, "metrics")
