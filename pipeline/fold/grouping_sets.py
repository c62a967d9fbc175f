"""By what the fold groups, so that one pass serves all that panes are kept for."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from pipeline import columns as c
from pipeline.event_time import lateness
from pipeline.event_time.lateness import Sql
from pipeline.event_time.policy import Consumer

KEYS = (c.USER_ID, c.PAGE_URL, c.EVENT_TYPE)
"""The fields that a report may have as keys."""


@dataclass(frozen=True, slots=True)
class Groupings:
    """The sets of keys to group by, and the panes that all others' panes are made of."""

    sets: tuple[tuple[str, ...], ...]
    pane_ms: int
    shift_ms: int
    flags: tuple[str, ...]
    """SQL conditions of which a group tells whether its events meet them."""

    def of(self, consumer: Consumer) -> int:
        """The set from which a consumer's panes are made: the first that has all its keys; by event its own."""
        if consumer.by_event:
            return self.sets.index(_single(consumer))
        return next(number for number, keys in enumerate(self.sets) if {*consumer.fold_keys} <= {*keys})

    def fitting(self, consumer: Consumer) -> set[int]:
        """The values of the packed flags of the events that belong to a consumer."""
        wanted, barred = conditions(consumer)
        return {
            value
            for value in range(2 ** len(self.flags))
            if all(value >> self.flags.index(one) & 1 for one in wanted)
            and not any(value >> self.flags.index(one) & 1 for one in barred)
        }

    def late(self, consumer: Consumer) -> set[int]:
        """Those of events whose own window had fired before their batch began."""
        flags = [self.flags.index(one) for one in _fired(consumer)]
        return {value for value in self.fitting(consumer) if any(value >> flag & 1 for flag in flags)}


def groupings(consumers: Sequence[Consumer]) -> Groupings:
    """Only the largest sets: a consumer whose keys are a part of another's is served from that one's groups."""
    single = {_single(one) for one in consumers if one.by_event}
    wanted = {one.fold_keys for one in consumers if not one.by_event}
    sets = sorted(keys for keys in wanted if not any({*keys} < {*other} for other in wanted)) + sorted(single)
    pane_ms = gcd(*(one.pane_ms for one in consumers)) or 1
    offsets = {one.shift_ms for one in consumers}
    pane_ms = gcd(pane_ms, *(one - other for one in offsets for other in offsets))
    flags = {flag for one in consumers for side in (*conditions(one), _fired(one)) for flag in side}
    return Groupings(tuple(sets), pane_ms, min(offsets) % pane_ms, tuple(sorted(flags)))


def _single(consumer: Consumer) -> tuple[str, ...]:
    """Every event by itself."""
    return (*consumer.fold_keys, c.RECORD_POSITION)


def conditions(consumer: Consumer) -> tuple[set[str], set[str]]:
    """The conditions that hold, and those that do not hold, of an event that belongs to a consumer, beside its pane."""
    wanted = {consumer.where} if consumer.where else set[str]()
    return wanted, _closed(consumer)


def _fired(consumer: Consumer) -> set[str]:
    """The condition for the window that an event alone is to have fired, where events are judged by it."""
    if consumer.event_ms is None:
        return set()
    return {str(lateness.has_fired(Sql(c.TIME) + consumer.event_ms, Sql(c.WATERMARK)))}


def _closed(consumer: Consumer) -> set[str]:
    """The condition for it to have closed."""
    if consumer.event_ms is None:
        return set()
    closed_until = lateness.closed_until_sql(consumer, c.WATERMARK)
    return {str(lateness.is_closed(Sql(c.TIME) + consumer.event_ms, closed_until))}
