"""Finds the windows that are final in two warehouses, and the offsets that both have read.

Only these are compared, so that a window which one of them has yet to close is no difference. Times are milliseconds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.instants import moment
from tidemark.pipeline.reading.comparison.side import Side

Sides = tuple[Side, Side]
ANY_TIME: Final = 0
"""Both warehouses know every window, from the first event on."""


@dataclass(frozen=True, slots=True)
class Start:
    """From which time on both warehouses have read every event, and why not earlier ones."""

    since: int
    """`ANY_TIME` if they started at the same offsets, `rules.NEVER` if the time is unknown."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class WindowSpan:
    """The windows of a report that are compared."""

    since: int
    """They start at or after this time."""
    closed: int | None
    """Windows that end at or before it are final in both; None if there is no such time."""
    is_live: bool
    """Whether all later windows are compared, too, because both have read the same offsets."""
    not_compared: tuple[str, ...]
    """Sentences on windows that are not compared, with the reason."""


@dataclass(frozen=True, slots=True)
class OffsetSpan:
    """The offsets of a partition whose dead letters are compared, `[first, last)`."""

    partition: int
    first: int
    last: int


def instant_text(milliseconds: int) -> str:
    """Returns milliseconds since 1970 as a time in UTC."""
    if milliseconds >= rules.END_OF_INPUT:
        return "the end of time"
    return moment(milliseconds).isoformat(timespec="milliseconds").replace(".000", "").replace("+00:00", "Z")


def different_topics(one: Side, other: Side) -> str:
    """Returns a sentence if two warehouses read different topics, which cannot be compared; otherwise empty text."""
    if one.summary.topic != other.summary.topic:
        return f"they read different topics: {one.summary.topic} and {other.summary.topic}"
    ids = [side.opening.topic_id for side in (one, other)]
    if None not in ids and ids[0] != ids[1]:
        return f"they read different topics of the name {one.summary.topic}: it was deleted and created again"
    return ""


def have_same_ends(one: Side, other: Side) -> bool:
    """Returns whether two warehouses have read up to the same offset of each partition."""
    first, second = ({partition: last for partition, (_, last) in side.read.items()} for side in (one, other))
    return first == second


def common_start(one: Side, other: Side) -> Start:
    """Returns since when both warehouses have read every event.

    An event before the first offset of either was counted by the other one alone. The ledger limits its time.
    """
    since, reason = ANY_TIME, ""
    for partition in sorted(one.read.keys() & other.read.keys()):
        firsts = one.read[partition][0], other.read[partition][0]
        if firsts[0] == firsts[1]:
            continue
        earlier = one if firsts[0] < firsts[1] else other
        reached = _after_events_before(earlier, partition, max(firsts))
        if reached > since:
            since = reached
            reason = (
                f"{one.name} started at offset {firsts[0]} of partition {partition}, {other.name} at {firsts[1]}: "
                "events in between may be in one of them only"
            )
    return Start(since, reason)


def _after_events_before(side: Side, partition: int, offset: int) -> int:
    """Returns a time after every event that was read before `offset`; `rules.NEVER` if the ledger does not limit it."""
    policy = side.opening.policy
    newest = side.newest_before(partition, offset)
    if not isinstance(policy.strategy, Bounded) or newest is None:
        return rules.NEVER
    # A time may be ahead of what it moves the watermark to by as much as an event may be in the future.
    return newest + max(policy.max_future_skew_ms, policy.max_ahead_ms or 0) + 1


def window_span(report: Report, sides: Sides, start: Start) -> WindowSpan:
    """Returns the windows of a report that both warehouses know, from `start` on."""
    one, other = sides
    name, has_same_ends = report.name, have_same_ends(one, other)
    progress = [side.progress.reports[name] for side in sides]
    since = max(_start_of(report, start), *(each.since for each in progress))
    late = [side.name for side in sides if name in side.progress.pending]
    is_live = has_same_ends and not late and since < rules.NEVER
    if not report.windows.by_time:
        is_live = is_live and since == ANY_TIME
        reasons = [*_count_reasons(has_same_ends=has_same_ends, is_whole=since == ANY_TIME, late=late)]
        return WindowSpan(since, None, is_live, tuple(reasons))
    closed = min(each.closed for each in progress)
    is_final = closed > since
    reasons = [*_start_reasons(since, start, report, sides)]
    if not is_live and since < rules.NEVER:
        reasons.append(_end_reason(closed if is_final else None, late))
    return WindowSpan(since, closed if is_final else None, is_live, tuple(reasons))


def _start_of(report: Report, start: Start) -> int:
    """Returns the start of the first window that no earlier event can have changed."""
    if start.since in (ANY_TIME, rules.NEVER):
        return start.since
    return start.since + (report.windows.event_ms or report.session_gap_ms)


def _count_reasons(*, has_same_ends: bool, is_whole: bool, late: Sequence[str]) -> Iterator[str]:
    if not is_whole:
        yield "windows by count, because not both have every event since the first"
    elif not has_same_ends:
        yield "windows by count, because the two have not read the same offsets"
    elif late:
        yield f"windows by count, because {' and '.join(late)} may have windows that are not published yet"


def _start_reasons(since: int, start: Start, report: Report, sides: Sides) -> Iterator[str]:
    if since == rules.NEVER:
        yield f"all windows, because {start.reason}, and the ledger does not limit their times"
    elif since > ANY_TIME:
        reasons = [start.reason] if start.reason and since == _start_of(report, start) else []
        reasons += [
            f"{side.name} lacks earlier ones: they were removed by age, or the report was added later"
            for side in sides
            if side.progress.reports[report.name].since == since
        ]
        yield f"windows that start before {instant_text(since)}, because {'; '.join(reasons)}"


def _end_reason(closed: int | None, late: Sequence[str]) -> str:
    why = (
        f"{' and '.join(late)} may have windows that are not published yet"
        if late
        else "the two have not read the same offsets"
    )
    which = "all windows" if closed is None else f"windows that end after {instant_text(closed)}"
    return f"{which}, because they are not final in both, and {why}"


def offset_spans(one: Side, other: Side) -> list[OffsetSpan]:
    """Returns the offsets whose dead letters both warehouses have, by partition."""
    spans = []
    for partition in sorted(one.read.keys() & other.read.keys()):
        first = max(
            *(side.read[partition][0] for side in (one, other)),
            *(side.letters_from.get(partition, 0) for side in (one, other)),
        )
        last = min(side.read[partition][1] for side in (one, other))
        if first < last:
            spans.append(OffsetSpan(partition, first, last))
    return spans


def offsets_left_out(side: Side, spans: Sequence[OffsetSpan]) -> int:
    """Returns the number of offsets that a warehouse has read and whose dead letters are not compared."""
    return sum(last - first for first, last in side.read.values()) - sum(span.last - span.first for span in spans)
