"""A fold in plain Python: judges the events of a batch by the rules of the pure core, as the fold's columns do."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np

from tests.transcripts.transcript import Counted, Sent
from tidemark.pipeline.event_time import lateness, rules
from tidemark.pipeline.event_time.checks import Check, is_counted, moves_watermark
from tidemark.pipeline.event_time.event_ids import Ids, RememberedIds
from tidemark.pipeline.event_time.policy import Consumer, Policy, TimeOf
from tidemark.pipeline.event_time.tallies import Statistic
from tidemark.pipeline.fold.grouping_sets import groupings


@dataclass(frozen=True)
class Judged:
    """An event, its time, the first check that it fails, and the time up to which it may move the watermark."""

    event: Sent
    time: int
    check: Check
    moving_time: int | None


def judged(events: Iterable[Sent], policy: Policy, watermark: int | None, now: int) -> list[Judged]:
    """Judges the events of a batch by the watermark and the clock from before it, except for duplicates."""
    entries = []
    for event in events:
        time = event.time(policy.time_of, now)
        check = _check(event, time, policy, watermark, now)
        moves = moves_watermark(check) and event.meets(policy.strategy.marker)
        capped = min(time, _arrival(event, policy, now), now) if policy.caps_watermark else time
        entries.append(Judged(event, time, check, capped if moves else None))
    return entries


def _arrival(event: Sent, policy: Policy, now: int) -> int:
    return event.stamp if rules.is_arrival(event.stamp, now, policy.max_age_ms) else now


def _check(event: Sent, time: int, policy: Policy, watermark: int | None, now: int) -> Check:
    if policy.time_of is TimeOf.EVENT and rules.is_future(
        time, _arrival(event, policy, now), policy.max_future_skew_ms
    ):
        return Check.FUTURE
    limits_clock = policy.max_ahead_ms is not None and policy.time_of is not TimeOf.PROCESSING
    if limits_clock and rules.is_future(time, now, policy.max_ahead_ms or 0):
        return Check.AHEAD_OF_CLOCK
    cutoffs = lateness.cutoffs(policy.reports, watermark)
    if lateness.is_too_late(time, cutoffs.too_late):
        return Check.TOO_LATE
    terms = {(report.windows, report.allowed_lateness_ms, report.closed_before_ms) for report in policy.reports}
    may_be_partly_late = len(terms) > 1 or policy.reports[0].windows.has_overlap
    is_partly_late = may_be_partly_late and lateness.is_too_late(time, cutoffs.partly_late)
    return Check.PARTLY_LATE if is_partly_late else Check.PASSED


def with_duplicates(entries: Sequence[Judged], remembered: RememberedIds, oldest_ms: int) -> tuple[list[Judged], Ids]:
    """Marks duplicates, by ids that are remembered from `oldest_ms` on. Returns the ids of the events that count, too.

    Events are in the order of their partitions and offsets.
    """
    indices = [index for index, entry in enumerate(entries) if is_counted(entry.check) and entry.event.id]
    ids = ids_of([entries[index] for index in indices])
    flags = remembered.repeated(ids, np.array(indices, dtype=np.int64), oldest_ms)
    repeated = {index for index, flag in zip(indices, flags, strict=True) if flag}
    marked = [
        replace(entry, check=Check.DUPLICATE) if index in repeated else entry for index, entry in enumerate(entries)
    ]
    return marked, ids[~flags]


def ids_of(entries: Iterable[Judged]) -> Ids:
    """Returns the columns of events with ids."""
    hashes = [(sha256(entry.event.id.encode()).digest(), entry.time) for entry in entries]
    halves = [[int.from_bytes(digest[at : at + 8], signed=True) for digest, _ in hashes] for at in (0, 8)]
    return Ids(*(np.array(column, dtype=np.int64) for column in (*halves, [time for _, time in hashes])))


def statistics(entries: Iterable[Judged], policy: Policy) -> Iterator[Statistic]:
    """Yields a row for each event, with the start of its pane if it counts."""
    grid = groupings(policy.consumers)
    for entry in entries:
        pane = entry.time - (entry.time + grid.shift_ms) % grid.pane_ms if is_counted(entry.check) else None
        yield Statistic(0, entry.event.partition, int(entry.check), pane, 0, 1, entry.moving_time, 0)


def counted_in(
    consumer: Consumer, entries: Iterable[Judged], policy: Policy, watermark: int | None, batch: int
) -> Iterator[Counted]:
    """Yields the events of a batch that count in a report or in the totals."""
    grid, closed_until = groupings(policy.consumers), lateness.closed_until(consumer, watermark)
    in_time_from = lateness.in_time_from(consumer, watermark)
    for entry in entries:
        pane = entry.time - (entry.time + grid.shift_ms) % grid.pane_ms
        is_late = (
            lateness.is_too_late(pane, in_time_from)
            if consumer.event_ms is None
            else lateness.is_closed(entry.time + consumer.event_ms, closed_until)
        )
        if is_counted(entry.check) and entry.event.meets(consumer.where) and not is_late:
            yield Counted(entry.event, entry.time, batch, rules.as_number(watermark), closed_until)
