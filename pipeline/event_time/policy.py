"""The verdict on a record: counted, a duplicate of one that was, or rejected with a reason."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pipeline.event_time.reports import Report
from pipeline.event_time.strategies import Strategy
from pipeline.event_time.user_totals import UserTotals


class Verdict(StrEnum):
    """The judgement on a record; the rejected ones have it as a reason in `dead_letters`."""

    COUNTED = "counted"
    TOO_LATE = "too_late"
    FUTURE = "future"
    MALFORMED = "malformed"
    DUPLICATE = "duplicate"
    """It repeats an event that was counted: it is in no result, and no dead letter either."""
    ERASED = "erased"
    """Its user was erased and is not wanted back: of the record there is its place in Kafka and nothing else."""


REJECTED: Final = (Verdict.TOO_LATE, Verdict.FUTURE, Verdict.MALFORMED, Verdict.ERASED)
"""The verdicts that make a record a dead letter."""


class TimeOf(StrEnum):
    """Which time of a record is its event time."""

    EVENT = "event"
    """When the user acted: the field `event_time`."""
    INGESTION = "ingestion"
    """When Kafka took it: the Kafka timestamp."""
    PROCESSING = "processing"
    """When the service read it: the clock at the begin of its batch."""


class AllIdle(StrEnum):
    """How the watermark moves while every partition is idle."""

    HOLD = "hold"
    """It stays: the last windows wait for the next event."""
    ADVANCE = "advance"
    """It follows the clock: the last windows of a quiet topic are published."""


Consumer = Report | UserTotals
"""A reader of panes."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How out of order events may be, and what is made of them. All in milliseconds."""

    strategy: Strategy
    idle_timeout_ms: int
    max_future_skew_ms: int
    reports: tuple[Report, ...]
    totals: UserTotals | None = None
    time_of: TimeOf = TimeOf.EVENT
    all_idle: AllIdle = AllIdle.HOLD
    max_ahead_ms: int | None = None
    """How far ahead of the service's clock an event may be; None for any."""
    deduplicate: bool = False
    """Whether an event whose id was counted before is a duplicate, as long as windows of that one are open."""

    @property
    def consumers(self) -> tuple[Consumer, ...]:
        """All that panes are kept for."""
        return (*self.reports, *([self.totals] if self.totals else []))
