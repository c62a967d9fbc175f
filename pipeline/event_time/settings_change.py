"""Two things that changed settings may not change at a start: which windows are closed, and what a watermark means."""

from collections.abc import Iterable, Mapping

from pipeline.event_time import lateness, rules
from pipeline.event_time.policy import Policy


def closed(before: Policy, known: Mapping[str, int], watermark: int | None, reports: Iterable[str]) -> dict[str, int]:
    """How far each report is closed when an epoch begins; windows that end no later stay so. Milliseconds.

    `before` are the rules of the epoch before, `known` how far reports were closed when that began, among them such as
    were not configured any more; `reports` are those configured now. A report that goes keeps what it has shown: it is
    closed up to the watermark, for what it had open is dropped. One that is new is closed where all others are.
    """
    configured = set(reports)
    stood = {report.name: lateness.closed_until(report, watermark) for report in before.reports}
    reached = rules.as_number(watermark)
    # Only what goes now: a restart while a report is away closes no more of it.
    here = {name: time if name in configured else max(time, reached) for name, time in stood.items()}
    floor = min(stood.values(), default=rules.NO_WATERMARK)
    return {**known, **here} | dict.fromkeys(configured - known.keys() - here.keys(), floor)


def measures_alike(before: Policy, now: Policy) -> bool:
    """Whether the highest event times of before mean the same now.

    Where another time counts, or something else moves the watermark, they would make it jump.
    """
    one, other = ((policy.time_of, policy.strategy.kind, policy.strategy.marker) for policy in (before, now))
    return one == other
