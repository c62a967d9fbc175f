"""The verdict on one decoded event, as the fold gives it to a column of them."""

from tidemark.pipeline.event_time import lateness, rules
from tidemark.pipeline.event_time.policy import Policy, Verdict


def judge(event_time: int, kafka_timestamp: int, watermark: int | None, policy: Policy) -> Verdict:
    """Against the watermark from before its batch began; times in milliseconds."""
    if not rules.in_range(event_time):
        return Verdict.MALFORMED
    if rules.is_future(event_time, kafka_timestamp, policy.max_future_skew_ms):
        return Verdict.FUTURE
    in_time_from, _ = lateness.cutoffs(policy.reports, watermark)
    return Verdict.TOO_LATE if lateness.is_too_late(event_time, in_time_from) else Verdict.COUNTED
