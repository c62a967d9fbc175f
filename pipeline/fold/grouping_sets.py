"""By what the fold groups, so that one pass serves all that panes are kept for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

from pipeline import columns as c
from pipeline.event_time import lateness
from pipeline.event_time.checks import Check
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
        if consumer.keeps_events:
            return self.sets.index(_single(consumer))
        return next(number for number, keys in enumerate(self.sets) if {*consumer.fold_keys} <= {*keys})

    def belongs(self, consumer: Consumer, watermark: int | None, column: Callable[[str], Any]) -> Any:
        """Which groups are a consumer's own: of its keys, of its events, and not late for it.

        `column` gives a column by its name, Spark's or Arrow's, and the answer is an expression of the same engine.
        """
        mine = (column(c.GROUPING) == self.of(consumer)) & (column(c.CHECK) <= int(Check.PARTLY_LATE))
        if self.flags:
            mine &= column(c.FLAGS).isin(sorted(self._fitting(consumer)))
        if consumer.event_ms is not None:
            return mine  # a flag tells which events are late
        return mine & ~lateness.is_too_late(column(c.PANE_START), lateness.in_time_from(consumer, watermark))

    def adds_up(self, consumer: Consumer) -> bool:
        """Whether several groups are one row of a consumer's panes."""
        return not consumer.keeps_events and {*self.sets[self.of(consumer)]} != {*consumer.pane_keys}

    def late(self, consumer: Consumer) -> set[int]:
        """Those of events whose own window had fired before their batch began."""
        return {value for value in self._fitting(consumer) if value & self._bits(_fired(consumer))}

    def _fitting(self, consumer: Consumer) -> set[int]:
        """The values of the packed flags of the events that belong to a consumer."""
        wanted, barred = map(self._bits, _conditions(consumer))
        return {value for value in range(2 ** len(self.flags)) if value & wanted == wanted and not value & barred}

    def _bits(self, conditions: set[str]) -> int:
        return sum(1 << self.flags.index(one) for one in conditions)


def groupings(consumers: Sequence[Consumer]) -> Groupings:
    """Only the largest sets: a consumer whose keys are a part of another's is served from that one's groups."""
    single = {_single(one) for one in consumers if one.keeps_events}
    wanted = {one.fold_keys for one in consumers if not one.keeps_events}
    sets = sorted(keys for keys in wanted if not any({*keys} < {*other} for other in wanted)) + sorted(single)
    pane_ms = gcd(*(one.pane_ms for one in consumers)) or 1
    offsets = {one.shift_ms for one in consumers}
    pane_ms = gcd(pane_ms, *(one - other for one in offsets for other in offsets))
    flags = {flag for one in consumers for side in (*_conditions(one), _fired(one)) for flag in side}
    return Groupings(tuple(sets), pane_ms, min(offsets) % pane_ms, tuple(sorted(flags)))


def _single(consumer: Consumer) -> tuple[str, ...]:
    """Every event by itself."""
    return (*consumer.fold_keys, c.RECORD_POSITION)


def _conditions(consumer: Consumer) -> tuple[set[str], set[str]]:
    """The conditions that hold, and those that do not hold, of an event that belongs to a consumer, beside its pane."""
    wanted = {consumer.where} if consumer.where else set[str]()
    if consumer.event_ms is None:
        return wanted, set()
    closed_until = lateness.closed_until_sql(consumer, c.WATERMARK)
    return wanted, {str(lateness.is_closed(Sql(c.TIME) + consumer.event_ms, closed_until))}


def _fired(consumer: Consumer) -> set[str]:
    """The condition for the window that an event alone is to have fired, where events are judged by it."""
    if consumer.event_ms is None:
        return set()
    return {str(lateness.has_fired(Sql(c.TIME) + consumer.event_ms, Sql(c.WATERMARK)))}
