"""The policy of a service: its strategy, reports and limits; and the verdicts that it leads to."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tidemark.pipeline.event_time.dimensions import Dimension
from tidemark.pipeline.event_time.field_measures import FieldMeasure
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Strategy
from tidemark.pipeline.event_time.user_totals import UserTotals


class Verdict(StrEnum):
    """The judgement on a record. For rejected records it is also the reason in `dead_letters`."""

    COUNTED = "counted"
    TOO_LATE = "too_late"
    FUTURE = "future"
    MALFORMED = "malformed"
    DUPLICATE = "duplicate"
    """It repeats a counted event. It is in no result, and no dead letter."""
    LEFT_OUT = "left_out"
    """It is of a kind that is not mapped. It is in no result and no dead letter, and does not move the watermark."""
    ERASED = "erased"
    """Its user was erased, with later events dropped. The dead letter contains its Kafka position and nothing else."""


REJECTED: Final = (Verdict.TOO_LATE, Verdict.FUTURE, Verdict.MALFORMED, Verdict.ERASED)
"""The verdicts that make a record a dead letter."""


class TimeOf(StrEnum):
    """The time of a record that is its event time."""

    EVENT = "event"
    """When the user acted: the field `event_time`."""
    INGESTION = "ingestion"
    """When Kafka received it: the Kafka timestamp."""
    PROCESSING = "processing"
    """When the service read it: the clock at the start of its batch."""


class AllIdle(StrEnum):
    """Movement of the watermark while all partitions are idle."""

    HOLD = "hold"
    """The watermark stays, so the last windows wait for the next event."""
    ADVANCE = "advance"
    """The watermark follows the clock, so the last windows of a quiet topic are published."""


class JudgedBy(StrEnum):
    """The watermark that decides whether a record is late."""

    BATCH = "batch"
    """The one from before its batch: what is late depends on where the topic was cut into batches."""
    ARRIVAL = "arrival"
    """The one at its arrival: the same topic gives the same tables in any batches."""


Consumer = Report | UserTotals
"""A reader of panes."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits for events that are out of order, and the results of a service. Durations are milliseconds."""

    strategy: Strategy
    idle_timeout_ms: int
    max_future_skew_ms: int
    reports: tuple[Report, ...]
    totals: UserTotals | None = None
    time_of: TimeOf = TimeOf.EVENT
    all_idle: AllIdle = AllIdle.HOLD
    judged: JudgedBy = JudgedBy.BATCH
    settling_ms: int = 0
    """By arrival: how long after its Kafka timestamp a record may become visible. Batches end that long before now."""
    max_ahead_ms: int | None = None
    """Limit for events ahead of the service's clock; None for no limit."""
    max_age_ms: int | None = None
    """Limit for events before their Kafka timestamp; None for no limit. With a wrong unit events are decades old."""
    caps_watermark: bool = False
    """Whether an event moves the watermark at most to its Kafka timestamp and to the service's clock.

    Then the watermark is never ahead of the clock. It is not capped without a limit for events ahead of the clock,
    because event times are then unrelated to it.
    """
    deduplicate: bool = False
    """Whether an event is a duplicate if an event with its id was counted, and a window of that event is open."""

    leaves_out_kinds: bool = False
    """Whether events of kinds that are not mapped are left out; otherwise they are malformed."""
    has_other_kinds: bool = False
    """Whether other events than visits and clicks may count, or could in an earlier epoch of the warehouse."""
    leaves_out_tombstones: bool = False
    """Whether records without a value are left out; otherwise they are malformed."""

    @property
    def by_arrival(self) -> bool:
        """Whether records are judged by the watermark at their arrival."""
        return self.judged is JudgedBy.ARRIVAL

    @property
    def consumers(self) -> tuple[Consumer, ...]:
        """All readers of panes: the reports, and the totals if there are any."""
        return (*self.reports, *([self.totals] if self.totals else []))

    @property
    def dimensions(self) -> list[Dimension]:
        """The dimensions of all reports, each once."""
        return [*dict.fromkeys(dimension for report in self.reports for dimension in report.dimensions)]

    @property
    def personal_dimensions(self) -> list[Dimension]:
        """The dimensions of all reports whose values are ids of people."""
        return [dimension for dimension in self.dimensions if dimension.personal]

    @property
    def field_measures(self) -> list[FieldMeasure]:
        """The measures of fields of all reports, each once."""
        return [*dict.fromkeys(measure for report in self.reports for measure in report.field_measures)]
