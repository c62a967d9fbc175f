"""The verdict on a record: counted, or rejected with a reason."""

from dataclasses import dataclass
from enum import StrEnum

from pipeline.time.report import Report
from pipeline.time.user_totals import UserTotals


class Verdict(StrEnum):
    """What becomes of a record; every value but `COUNTED` is a reason in `dead_letters`."""

    COUNTED = "counted"
    TOO_LATE = "too_late"
    FUTURE = "future"
    MALFORMED = "malformed"


class TimeOf(StrEnum):
    """Which time of a record is its event time."""

    EVENT = "event"
    """When the user acted: the field `event_time`."""
    INGESTION = "ingestion"
    """When Kafka took it: the Kafka timestamp."""
    PROCESSING = "processing"
    """When the service read it: the clock at the begin of its batch."""


class Strategy(StrEnum):
    """What moves the watermark of a partition."""

    BOUNDED = "bounded"
    """Every event: the highest event time minus the bound."""
    PUNCTUATED = "punctuated"
    """A marker only: the highest event time of a marker."""
    TIME_LAG = "time_lag"
    """The clock: now minus a lag, with data or without."""


class AllIdle(StrEnum):
    """What the watermark does while every partition is idle."""

    HOLD = "hold"
    """It stays: the last windows wait for the next event."""
    ADVANCE = "advance"
    """It follows the clock minus the bound: the last windows of a quiet topic are published."""


Consumer = Report | UserTotals
"""What panes are kept for."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How out of order events may be, and what is made of them. All in milliseconds."""

    bound_ms: int
    idle_timeout_ms: int
    max_future_skew_ms: int
    reports: tuple[Report, ...]
    totals: UserTotals | None = None
    time_of: TimeOf = TimeOf.EVENT
    strategy: Strategy = Strategy.BOUNDED
    marker: str = ""
    """With PUNCTUATED: the SQL condition that makes an event a marker."""
    lag_ms: int = 0
    all_idle: AllIdle = AllIdle.HOLD
    max_ahead_ms: int | None = None
    """How far ahead of the service's clock an event may be; None for any."""

    @property
    def consumers(self) -> tuple[Consumer, ...]:
        """All that panes are kept for."""
        return (*self.reports, *([self.totals] if self.totals else []))
