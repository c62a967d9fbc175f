"""The metrics of the SQL server for Prometheus; `docs/operations.md` lists them."""

from collections.abc import Callable
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Gauge


class StatementOutcome(StrEnum):
    """The outcome of a statement."""

    ANSWERED = "answered"
    """All its rows were sent."""
    REFUSED = "refused"
    """It does more than read, was interrupted, or breaks the protocol."""
    FAILED = "failed"
    """DuckDB cannot execute it: it is invalid, or needs more memory."""
    STORE_FAILED = "store_failed"
    """The tables cannot be read."""


class SqlMetrics:
    """The metrics of one server; `connections` returns the number of open connections."""

    def __init__(self, connections: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        gauge = Gauge(
            "tidemark_sql_connections",
            "Open connections, with those whose client has not logged in.",
            registry=self.registry,
        )
        gauge.set_function(connections)
        self._statements = Counter(
            "tidemark_sql_statements_total", "Statements by outcome.", ["outcome"], registry=self.registry
        )
        for outcome in StatementOutcome:  # a rate needs an initial value
            self._statements.labels(outcome)

    def count(self, outcome: StatementOutcome) -> None:
        """Counts a statement."""
        self._statements.labels(outcome).inc()
