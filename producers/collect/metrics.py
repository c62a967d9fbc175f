"""What Prometheus sees of a collector: each metric, once; `docs/collecting.md` has them all."""

from collections.abc import Callable
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class Outcome(StrEnum):
    """What became of a request to collect."""

    ACCEPTED = "accepted"
    """At least one event, and all that are none of the rejected ones are in Kafka."""
    OPTED_OUT = "opted_out"
    FOREIGN = "foreign"
    TOO_OFTEN = "too_often"
    TOO_LARGE = "too_large"
    TOO_SLOW = "too_slow"
    MALFORMED = "malformed"
    UNAVAILABLE = "unavailable"


class Metrics:
    """The metrics of one collector; `pending` tells how many events are on their way to Kafka."""

    def __init__(self, pending: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "tidemark_collect_requests_total",
            "Requests with events, by what became of them.",
            ["outcome"],
            registry=self.registry,
        )
        self.events = Counter(
            "tidemark_collect_events_total", "Events that Kafka acknowledged.", ["type"], registry=self.registry
        )
        self.rejected = Counter(
            "tidemark_collect_rejected_total",
            "Events that are not of the contract, and bodies of which none can be read.",
            ["reason"],
            registry=self.registry,
        )
        self.unavailable = Counter(
            "tidemark_collect_unavailable_total",
            "Requests that Kafka did not acknowledge, by what its client says.",
            ["reason"],
            registry=self.registry,
        )
        self.acknowledgement = Histogram(
            "tidemark_collect_acknowledgement_seconds",
            "From a request's body to Kafka's acknowledgement of all its events, or until that was given up.",
            registry=self.registry,
        )
        waiting = Gauge("tidemark_collect_pending_events", "Events on their way to Kafka.", registry=self.registry)
        waiting.set_function(pending)
        for outcome in Outcome:  # a rate needs a first value
            self.requests.labels(outcome)
