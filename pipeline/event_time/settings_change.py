"""Effects that changed settings must not have at a start: on closed windows, and on the meaning of a watermark."""

from collections.abc import Iterable, Mapping

from tidemark.pipeline.event_time import lateness, rules
from tidemark.pipeline.event_time.policy import Policy


def closed(before: Policy, known: Mapping[str, int], watermark: int | None, reports: Iterable[str]) -> dict[str, int]:
    """Returns, by report, the time in milliseconds up to which its windows are closed when an epoch starts.

    `before` is the policy of the last epoch, `known` what this function returned when that epoch started (also for
    reports that were no longer configured), `reports` the names that are configured now. A removed report is closed up
    to the watermark, because its open windows are dropped. A new report is closed up to the earliest of the others.
    """
    configured = set(reports)
    closed_before = {report.name: lateness.closed_until(report, watermark) for report in before.reports}
    reached = rules.as_number(watermark)
    # Only for reports that are removed now: later restarts close no more of them.
    closed_now = {name: time if name in configured else max(time, reached) for name, time in closed_before.items()}
    floor = min(closed_before.values(), default=rules.NO_WATERMARK)
    return {**known, **closed_now} | dict.fromkeys(configured - known.keys() - closed_now.keys(), floor)


def moves_watermark_alike(before: Policy, now: Policy) -> bool:
    """Returns whether the highest event times of the last epoch are comparable with those of `now`.

    They are not if another time of the record counts, another strategy moves the watermark, or only one of the policies
    caps it: it would jump.
    """
    return _mover(before) == _mover(now)


def _mover(policy: Policy) -> tuple[object, ...]:
    return policy.time_of, policy.strategy.kind, policy.strategy.marker, policy.caps_watermark
