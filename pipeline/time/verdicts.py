"""The verdict on a record: counted, or rejected with a reason."""

from dataclasses import dataclass
from enum import StrEnum

from pipeline.time import rules


class Verdict(StrEnum):
    """What becomes of a record; every value but `COUNTED` is a reason in `dead_letters`."""

    COUNTED = "counted"
    TOO_LATE = "too_late"
    FUTURE = "future"
    MALFORMED = "malformed"


@dataclass(frozen=True, slots=True)
class Policy:
    """How out of order events may be. All in milliseconds."""

    bound_ms: int
    allowed_lateness_ms: int
    idle_timeout_ms: int
    max_future_skew_ms: int
    window_ms: int


def judge(event_time: int, kafka_timestamp: int, watermark: int | None, policy: Policy) -> Verdict:
    """The verdict on a decoded event, against the watermark from before its batch began."""
    if not rules.in_range(event_time):
        return Verdict.MALFORMED
    if rules.is_future(event_time, kafka_timestamp, policy.max_future_skew_ms):
        return Verdict.FUTURE
    end = rules.pane_start(event_time, policy.window_ms) + policy.window_ms
    frontier = rules.NO_WATERMARK if watermark is None else watermark
    too_late = rules.has_closed(end, frontier, policy.allowed_lateness_ms)
    return Verdict.TOO_LATE if too_late else Verdict.COUNTED
