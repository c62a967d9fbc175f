"""The keys and flags by which a fold groups records, so that a single pass makes the panes of all consumers."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any, Final, NamedTuple

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import lateness
from tidemark.pipeline.event_time.checks import is_counted
from tidemark.pipeline.event_time.lateness import Sql
from tidemark.pipeline.event_time.policy import Consumer
from tidemark.pipeline.measures import Join


class FlagBits(NamedTuple):
    """The flags of the events that a consumer reads, as bits of a group's flags."""

    wanted: int
    """Its events have them."""
    barred: int
    """Its events do not have them."""
    fired: int
    """An event that has one was late."""

    @property
    def seen(self) -> int:
        """Returns all flags by which the consumer distinguishes events."""
        return self.wanted | self.barred | self.fired


SKETCH_OF: Final = "sketch of "
"""The start of the name of a column with sketches of the values of a key."""


class OutputRows(NamedTuple):
    """The groups that an output is made of, and the columns of its rows."""

    set: int
    """The index of the set of keys whose groups they are made of."""
    keys: tuple[str, ...]
    """The keys of the set that they have."""
    sketched: tuple[str, ...]
    """Keys of the set of whose different values they have sketches."""


class Output(NamedTuple):
    """The rows that a fold gives of the groups of a set: groups that differ in nothing else are joined."""

    rows: OutputRows
    pane_ms: int
    """The length of the rows' panes; rows of one event have those of the fold."""
    shift_ms: int


@dataclass(frozen=True, slots=True)
class Groupings:
    """The sets of keys to group by, and the grid of panes that divides the panes of all consumers."""

    sets: tuple[tuple[str, ...], ...]
    outputs: tuple[Output, ...]
    pane_ms: int
    shift_ms: int
    """Milliseconds added to a time so that panes start at multiples of `pane_ms`."""
    flags: tuple[str, ...]
    """SQL conditions; bit `i` of a group's flags is set if its events meet condition `i`."""

    @property
    def keys(self) -> list[str]:
        """Returns the keys of all sets, in alphabetical order."""
        return sorted({key for keys in self.sets for key in keys})

    @property
    def sketches(self) -> list[str]:
        """Returns the columns with sketches of a key's values, in the order of the keys."""
        return [f"{SKETCH_OF}{key}" for key in sorted({key for output in self.outputs for key in output.rows.sketched})]

    def of(self, consumer: Consumer) -> int:
        """Returns the index of the output that a consumer's panes are made from."""
        rows = _rows_of(self.sets, consumer)
        return next(index for index, output in enumerate(self.outputs) if output.rows == rows)

    def belongs(self, consumer: Consumer, in_time_from: Any, column: Callable[[str], Any]) -> Any:
        """Condition: a group has the consumer's keys and events, and is not late for it.

        Events before `in_time_from` (milliseconds, or a column) are too late, unless flags separate late events.
        `column` returns a column by its name, Spark's or Arrow's; the condition is an expression of the same engine.
        """
        is_own = (column(c.GROUPING) == self.of(consumer)) & is_counted(column(c.CHECK))
        if self.flags:
            is_own &= column(c.FLAGS).isin(sorted(self._fitting(consumer)))
        if consumer.event_ms is not None:
            return is_own  # flags separate late events
        return is_own & ~lateness.is_too_late(column(c.PANE_START), in_time_from)

    def adds_up(self, consumer: Consumer) -> bool:
        """Whether several groups may be one row of a consumer's panes."""
        stored = {*map(consumer.stored, self.outputs[self.of(consumer)].rows.keys)}
        return not consumer.keeps_events and stored != {*consumer.pane_keys}

    def late(self, consumer: Consumer) -> set[int]:
        """Returns the flags of the consumer's events whose own window had fired before their batch started."""
        return {flags for flags in self._fitting(consumer) if flags & self.flag_bits(consumer).fired}

    def reads(self, consumer: Consumer) -> tuple[int, FlagBits, bool]:
        """Returns a value that is equal for two consumers if they read the same groups when no event is too late."""
        return self.of(consumer), self.flag_bits(consumer), consumer.event_ms is None

    def flag_bits(self, consumer: Consumer) -> FlagBits:
        """Returns the flags of the events that a consumer reads."""
        return FlagBits(*map(self._bits, (*_conditions_sql(consumer), _fired_conditions(consumer))))

    def _fitting(self, consumer: Consumer) -> set[int]:
        """Returns the values that the flags of the consumer's events can have."""
        wanted, barred, _ = self.flag_bits(consumer)
        return {flags for flags in range(2 ** len(self.flags)) if flags & wanted == wanted and not flags & barred}

    def _bits(self, conditions: Collection[str]) -> int:
        return sum(1 << self.flags.index(condition) for condition in conditions)


def groupings(consumers: Sequence[Consumer]) -> Groupings:
    """Returns the largest sets only: a consumer whose keys are part of another's uses the other's groups."""
    event_sets = {_event_keys(consumer) for consumer in consumers if consumer.folds_events}
    key_sets = {consumer.fold_keys for consumer in consumers if not consumer.folds_events}
    largest = sorted(keys for keys in key_sets if not any({*keys} < {*other} for other in key_sets))
    conditions = (set.union(*_conditions_sql(consumer), _fired_conditions(consumer)) for consumer in consumers)
    flags = tuple(sorted(set().union(*conditions)))
    sets = (*largest, *sorted(event_sets))
    readers = dict[OutputRows, list[Consumer]]()
    for consumer in consumers:
        readers.setdefault(_rows_of(sets, consumer), []).append(consumer)
    outputs = [Output(rows, *_common_panes(readers[rows])) for rows in sorted(readers)]
    return Groupings(sets, tuple(outputs), *_common_panes(consumers), flags)


def _common_panes(consumers: Sequence[Consumer]) -> tuple[int, int]:
    """Returns length and shift of panes that divide those of all consumers."""
    shifts = {consumer.shift_ms for consumer in consumers}
    pane_ms = gcd(*(consumer.pane_ms for consumer in consumers)) or 1
    pane_ms = gcd(pane_ms, *(shift - other for shift in shifts for other in shifts))
    return pane_ms, min(shifts) % pane_ms


def _rows_of(sets: Sequence[tuple[str, ...]], consumer: Consumer) -> OutputRows:
    """Returns what a consumer's panes are made from: an output of the first set that has all its keys.

    Example: with `sets` (("page_url",), ("event_type", "user_id")) a report by user_id gets one of 1. A report that
    folds events gets its own set, which ends in record_position.
    """
    if consumer.folds_events:
        keys = _event_keys(consumer)
        return OutputRows(sets.index(keys), keys, ())
    index = next(index for index, keys in enumerate(sets) if {*consumer.fold_keys} <= {*keys})
    sketched = sketched_keys(consumer)
    return OutputRows(index, tuple(key for key in consumer.fold_keys if key not in sketched), sketched)


def sketched_keys(consumer: Consumer) -> tuple[str, ...]:
    """Returns the keys of a fold whose values a consumer only counts by sketches, which the operator makes.

    The driver makes them if it adds up rows for the consumer, because of other keys that its panes lack.
    """
    sketched = {part.fold for part in consumer.parts if part.join is Join.SKETCH}
    others = {consumer.stored(key) for key in consumer.fold_keys if key not in sketched}
    is_whole = others == {*consumer.pane_keys} and not consumer.folds_events
    return tuple(sorted(sketched)) if is_whole else ()


def _event_keys(consumer: Consumer) -> tuple[str, ...]:
    """Returns the keys of a set with one group per event."""
    return (*consumer.fold_keys, c.RECORD_POSITION)


def _conditions_sql(consumer: Consumer) -> tuple[set[str], set[str]]:
    """Returns SQL conditions that every event of a consumer meets, and conditions that no event of it meets.

    Lateness by pane is not among them: `Groupings.belongs` compares the starts of panes.
    """
    wanted = {consumer.where} if consumer.where else set[str]()
    if consumer.event_ms is None:
        return wanted, set()
    closed_until = lateness.closed_until_sql(consumer, c.WATERMARK)
    return wanted, {str(lateness.is_closed(Sql(c.TIME) + consumer.event_ms, closed_until))}


def _fired_conditions(consumer: Consumer) -> set[str]:
    """Returns the condition that an event's own window has fired; empty if the consumer judges panes."""
    if consumer.event_ms is None:
        return set()
    return {str(lateness.has_fired(Sql(c.TIME) + consumer.event_ms, Sql(c.WATERMARK)))}
