"""The metrics of a collector for Prometheus; `docs/collecting.md` lists them."""

from collections.abc import Callable
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class RequestOutcome(StrEnum):
    """The outcome of a request with events."""

    ACCEPTED = "accepted"
    """Has at least one accepted event, and all accepted events are in Kafka."""
    OPTED_OUT = "opted_out"
    NO_AGENT = "no_agent"
    ROBOT = "robot"
    FOREIGN = "foreign"
    TOO_OFTEN = "too_often"
    TOO_LARGE = "too_large"
    TOO_SLOW = "too_slow"
    MALFORMED = "malformed"
    UNAVAILABLE = "unavailable"


class Metrics:
    """The metrics of one collector; `pending` returns the number of events not yet acknowledged by Kafka."""

    def __init__(self, pending: Callable[[], int], most_pending: int) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "tidemark_collect_requests_total",
            "Requests with events, by outcome.",
            ["outcome"],
            registry=self.registry,
        )
        self.events = Counter(
            "tidemark_collect_events_total", "Events that Kafka acknowledged.", ["type"], registry=self.registry
        )
        self.rejected = Counter(
            "tidemark_collect_rejected_total",
            "Rejected events and unreadable bodies, by reason.",
            ["reason"],
            registry=self.registry,
        )
        self.unavailable = Counter(
            "tidemark_collect_unavailable_total",
            "Requests that Kafka did not acknowledge, by error of the client.",
            ["reason"],
            registry=self.registry,
        )
        self.acknowledgement = Histogram(
            "tidemark_collect_acknowledgement_seconds",
            "Time from a request's body to Kafka's acknowledgement of all its events, or to the failure.",
            registry=self.registry,
        )
        gauge = Gauge(
            "tidemark_collect_pending_events", "Events not yet acknowledged by Kafka.", registry=self.registry
        )
        gauge.set_function(pending)
        Gauge(
            "tidemark_collect_most_pending_events",
            "The limit of pending events: above it requests are refused.",
            registry=self.registry,
        ).set(most_pending)
        for outcome in RequestOutcome:  # a rate needs an initial value
            self.requests.labels(outcome)
