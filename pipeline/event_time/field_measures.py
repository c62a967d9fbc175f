"""Measures of any field of an event, by a path or in SQL: reports own their definitions, in addition to `MEASURES`.

Numbers are exact: a fold and `panes` have whole numbers, which are values times 10 ** `digits`. A value that is no
number, has more digits, or is too large is no value, as is null.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from functools import cache
from typing import Any, Final

from tidemark.pipeline import ddsketch, value_lists
from tidemark.pipeline.event_time.dimensions import source_text
from tidemark.pipeline.measures import NO_NUMBER, TIME_DIGITS, Aggregate, Display, Join, Measure, Part

NUMBERS: Final = tuple(f"number_{number}" for number in range(1, 9))
"""The columns of `panes` and `corrections` with the numbers of a report's own measures, in the order of their names."""
TEXTS: Final = tuple(f"text_{number}" for number in range(1, 5))
"""The columns of `panes` and `corrections` with the texts of a report's own measures, in the order of their names."""
SKETCHES: Final = tuple(f"sketch_{number}" for number in range(1, 5))
"""The columns of `panes` and `corrections` with sketches of values of a report's own measures, in that order, too."""
MOST_DIGITS: Final = 9
MOST_ADDED: Final = 10**12
"""The highest value that is added up, times 10 ** `digits`."""
MOST_RECORDS: Final = 9_000_000
"""The most records of a batch with sums of fields, so that they fit into 64 bits."""
TEXT_OF: Final = "text of "
"""The prefix of the columns of texts in a fold; by some of them it is grouped."""
_NUMBER_OF: Final = "number of "
_NO_TEXT: Final = {Join.MIN: "~", Join.MAX: ""}
"""The value of a part without a text: `~` is above all digits."""


class Function(StrEnum):
    """The functions of a field's values."""

    SUM = "sum"
    MIN = "min"
    MAX = "max"
    AVG = "avg"
    COUNT_IF = "count_if"
    """The number of events that meet a condition."""
    FIRST = "first"
    """The text of the earliest event that has one; at the same time the lowest."""
    LAST = "last"
    """The text of the latest event that has one; at the same time the highest."""
    UNIQUE = "unique"
    """The number of different texts, by a sketch."""
    QUANTILES = "quantiles"
    """Quantiles of the numbers, by a sketch: each is a column of results."""
    COLLECT_SET = "collect_set"
    """The different texts, the lowest first, up to a bound."""
    PATH = "path"
    """The texts in the order of event time and of record position, up to a bound."""

    @property
    def is_of_text(self) -> bool:
        """Whether the values are texts."""
        return self in (Function.FIRST, Function.LAST, Function.UNIQUE) or self.is_list

    @property
    def is_list(self) -> bool:
        """Whether its value is a list."""
        return self in (Function.COLLECT_SET, Function.PATH)

    @property
    def is_of_sketch(self) -> bool:
        """Whether its part is a sketch or a list."""
        return self in (Function.UNIQUE, Function.QUANTILES) or self.is_list

    @property
    def is_grouped_by(self) -> bool:
        """Whether a fold groups events by the values, which are texts there."""
        return self.is_of_sketch

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of `panes` that its parts may have."""
        if self.is_of_sketch:
            return SKETCHES
        return TEXTS if self.is_of_text else NUMBERS

    @property
    def columns(self) -> int:
        """The number of columns of `panes` that it needs."""
        return 2 if self is Function.AVG else 1

    @property
    def bound(self) -> int:
        """The highest value, times 10 ** `digits`, which counts; the lowest is the negative of it."""
        return MOST_ADDED if self in (Function.SUM, Function.AVG) else 10**18 - 1


_AGGREGATES: Final = {Function.FIRST: Join.FIRST, Function.LAST: Join.LAST}
_JOINS: Final = {Function.MIN: Join.MIN, Function.MAX: Join.MAX, Function.FIRST: Join.MIN, Function.LAST: Join.MAX}


@dataclass(frozen=True, slots=True)
class FieldMeasure:
    """A measure of reports that is made of an event's fields: either the value at a path, or that of SQL."""

    name: str
    function: Function
    path: str = ""
    """Names of fields with dots between them: a field of a record in a record."""
    sql: str = ""
    """Spark's SQL over the fields of an event; with `COUNT_IF` a condition."""
    digits: int = 0
    """The number of decimal digits of its values."""
    quantiles: tuple[int, ...] = ()
    """With `QUANTILES` these, in parts of `WHOLE`, the lowest first."""
    most: int = 0
    """The most texts of a list."""

    @property
    def measure_names(self) -> tuple[str, ...]:
        """The names of its measures, which are columns of results: a list has two, quantiles have one each."""
        if self.function.is_list:
            return self.name, f"{self.name}_cut"
        return tuple(self.name + quantile_suffix(quantile) for quantile in self.quantiles) or (self.name,)

    @property
    def column(self) -> str:
        """The column of its values in a fold, for first and last texts of a field the same one.

        No field of an event has a name with a space.
        """
        if self.function in _AGGREGATES and self.path:
            return f"{TEXT_OF}field {self.path.replace('.', ' ')}"
        is_text = self.function.is_of_text or self.function.is_of_sketch
        return f"{TEXT_OF if is_text else _NUMBER_OF}{self.name}"

    @property
    def counted(self) -> str:
        """The column of a fold with 1 for an event that has a value; only of averages."""
        return f"values of {self.name}"

    @property
    def _folded(self) -> str:
        """The column of its first part in a fold."""
        return f"part of {self.name}"

    @property
    def states(self) -> tuple[str, ...]:
        """The columns of results with its joined parts, if these are not the measure."""
        if self.function is Function.AVG:
            return f"{self.name}_sum", f"{self.name}_values"
        if self.function.is_of_sketch:
            return (f"{self.name}_sketch",)
        return (f"{self.name}_after_time",) if self.function.is_of_text else ()

    @property
    def meanings(self) -> dict[str, str]:
        """The comments of its columns in results."""
        source, meaning = source_text(self.path, self.sql), _MEANINGS[self.function]
        percents = [*map(percent_of, self.quantiles)] or [""]
        comments = [meaning.format(source=source, percent=percent, most=self.most) for percent in percents]
        if self.function is Function.AVG:
            unit = f", times {10**self.digits}" if self.digits else ""
            states = [f"Sum of the values of {self.name}{unit}.", f"Number of the values of {self.name}."]
        elif self.function is Function.UNIQUE:
            merged = f"hll_union_agg({self.name}_sketch)"
            states = [f"{self.name} as a HyperLogLog sketch, which Spark can merge: {merged}."]
        elif self.function is Function.QUANTILES:
            bytes_of = "for each bucket, in order, its id in 4 bytes and its count in 8, the highest byte first"
            states = [f"The numbers of {self.name} as a DDSketch: {bytes_of}."]
        elif self.function.is_list:
            comments.append(_CUTS[self.function].format(name=self.name))
            states = [f"The bound, the count and the entries of {self.name}, from which rows can be joined."]
        else:
            highest = "lowest is the earliest" if self.function is Function.FIRST else "highest is the latest"
            states = [f"Time and {self.name}: of several rows the {highest}."]
        return dict(zip((*self.measure_names, *self.states), (*comments, *states), strict=False))

    def measures(self, names: Iterator[str]) -> tuple[Measure, ...]:
        """Returns a measure for each column of results; their parts are the next `names` of columns of `panes`."""
        by = self.column if self.function.is_grouped_by else ""
        match self.function:
            case Function.UNIQUE:
                parts, display = [self._sketch_part(next(names), Join.SKETCH)], Display.ESTIMATE
            case Function.QUANTILES:
                parts, display = [self._sketch_part(next(names), Join.DDSKETCH)], Display.QUANTILE
            case Function.COLLECT_SET:
                parts, display = [self._sketch_part(next(names), Join.SET)], Display.LIST
            case Function.PATH:
                parts, display = [self._sketch_part(next(names), Join.PATH)], Display.LIST
            case Function.FIRST | Function.LAST:
                parts, display = [self._text_part(next(names))], Display.TEXT_AFTER_TIME
            case Function.AVG:
                parts, display = [self._number_part(next(names)), self._count_part(next(names))], Display.AVERAGE
            case _:
                parts, display = [self._number_part(next(names))], Display.EXACT
        measure = Measure(self.name, tuple(parts), display, by, self.states, digits=self.digits, is_anywhere=True)
        if self.function.is_list:
            return measure, replace(measure, name=self.measure_names[1], display=Display.LEFT_OUT)
        each = zip(self.measure_names, self.quantiles or (0,), strict=True)
        return tuple(replace(measure, name=name, quantile=quantile) for name, quantile in each)

    def parts_of(self, value: Any, time: int, position: int, sketch_of: Callable[[Iterable[str]], bytes]) -> list[Any]:
        """Returns its parts of one event, given its value in a fold, its time in milliseconds and record position.

        `sketch_of` is that of `tidemark.pipeline.sketches`, which takes long to import.
        """
        if self.function is Function.UNIQUE:
            return [sketch_of([] if value is None else [value])]
        if self.function is Function.QUANTILES:
            buckets = [] if value is None else [int(value)]
            return [ddsketch.sketch_of(buckets, [1] * len(buckets))]
        if self.function is Function.COLLECT_SET:
            return [value_lists.set_of([] if value is None else [value], self.most)]
        if self.function is Function.PATH:
            return [value_lists.path_of([] if value is None else [(time, position, value)], self.most)]
        join = _JOINS.get(self.function, Join.SUM)
        if self.function.is_of_text:
            return [_NO_TEXT[join] if value is None else f"{time:0{TIME_DIGITS}d} {value}"]
        number = NO_NUMBER[join] if value is None else value
        return [number, int(value is not None)] if self.function is Function.AVG else [number]

    def _number_part(self, name: str) -> Part:
        join = _JOINS.get(self.function, Join.SUM)
        aggregate = Aggregate(f"{join} of {self.name}", join, self.column)
        fold = f"coalesce(`{aggregate.name}`, {NO_NUMBER[join]})"
        return Part(name, "int64", join, fold, name, (aggregate,), column=self._folded, is_exact=join is Join.SUM)

    def _count_part(self, name: str) -> Part:
        aggregate = Aggregate(f"count of {self.name}", Join.SUM, self.counted)
        return Part(name, "int64", Join.SUM, f"`{aggregate.name}`", name, (aggregate,), column=self.counted)

    def _text_part(self, name: str) -> Part:
        join = _JOINS[self.function]
        aggregate = Aggregate(f"{self.function} of {self.name}", _AGGREGATES[self.function], self.column)
        fold = f"coalesce(`{aggregate.name}`, '{_NO_TEXT[join]}')"
        return Part(name, "string", join, fold, name, (aggregate,), column=self._folded)

    def _sketch_part(self, name: str, join: Join) -> Part:
        return Part(name, "binary", join, fold=self.column, corrected=name, most=self.most)


_MEANINGS: Final[Mapping[Function, str]] = {
    Function.SUM: "Sum of {source}; 0 without a value.",
    Function.MIN: "Lowest value of {source}; null without a value.",
    Function.MAX: "Highest value of {source}; null without a value.",
    Function.AVG: "Average of {source}; null without a value.",
    Function.COUNT_IF: "Number of events for which {source}.",
    Function.FIRST: "{source}: of the earliest event that has it; null if no event has it.",
    Function.LAST: "{source}: of the latest event that has it; null if no event has it.",
    Function.UNIQUE: (
        "Different values of {source}, without null and the empty text: exact up to a few hundred, then with a "
        "standard error of 1.6 %."
    ),
    Function.QUANTILES: (
        "{percent} % quantile of {source}, the lowest number that this part of the numbers does not exceed: with a "
        "relative error of 0.8 % at most; null without a number."
    ),
    Function.COLLECT_SET: "The different values of {source}, the lowest in text order first, at most {most} of them.",
    Function.PATH: (
        "The values of {source} in the order of event time, then of partition and offset: those of the first events, "
        "at most {most}."
    ),
}
_CUTS: Final[Mapping[Function, str]] = {
    Function.COLLECT_SET: "1 if there are higher values, which {name} leaves out; else 0.",
    Function.PATH: "Number of later events with a value, which {name} leaves out.",
}


def percent_of(quantile: int) -> str:
    """Returns a quantile in percent.

    >>> percent_of(9_500), percent_of(9_990)
    ('95', '99.9')
    """
    return f"{Decimal(quantile).scaleb(-2).normalize():f}"


def quantile_suffix(quantile: int) -> str:
    """Returns the end of the name of a quantile's measure.

    >>> quantile_suffix(9_500), quantile_suffix(9_990)
    ('_p95', '_p99_9')
    """
    return f"_p{percent_of(quantile).replace('.', '_')}"


@cache
def measures_of(definitions: Sequence[FieldMeasure]) -> tuple[tuple[Measure, ...], ...]:
    """Returns the measures of each definition of a report. `definitions` is a tuple, in the order of names."""
    names = {stored: iter(stored) for stored in (NUMBERS, TEXTS, SKETCHES)}
    return tuple(definition.measures(names[definition.function.stored]) for definition in definitions)
