"""The settings of measures of fields, and which measures a report can have."""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Annotated, ClassVar, Final, Self

from pydantic import BeforeValidator, Field, model_validator

from tidemark.command_line.printable import quoted
from tidemark.pipeline.ddsketch import WHOLE
from tidemark.pipeline.event_time.field_measures import (
    MOST_DIGITS,
    MOST_RECORDS,
    NUMBERS,
    SKETCHES,
    TEXTS,
    FieldMeasure,
    Function,
)
from tidemark.pipeline.event_time.reports import KEYS
from tidemark.pipeline.measures import MEASURES
from tidemark.pipeline.settings.column_names import is_reserved
from tidemark.pipeline.settings.report_settings import (
    COLUMN_NAME,
    ReportSettings,
    Section,
    SourceSettings,
    path_of_text,
)

_WITH_DIGITS: Final = (Function.SUM, Function.MIN, Function.MAX, Function.AVG, Function.QUANTILES)
MOST_QUANTILES: Final = 10
MOST_LISTED: Final = 1_000
"""The highest `most` of a list."""
_LISTED: Final = 100
"""The `most` of a list that does not set it."""


class ValueSettings(SourceSettings):
    """The values of a measure: a path, or SQL."""

    made: ClassVar[str] = "measure"

    sql: str = ""
    """Spark SQL over the fields, such as `round(price * amount, 2)`; events for which it fails have no value."""


PathOrValue = Annotated[ValueSettings, BeforeValidator(path_of_text, json_schema_input_type=str | ValueSettings)]
"""A path alone may be a text."""


class MeasureSettings(Section):
    """A measure of a field: one function, and the field or SQL of its values."""

    sum: PathOrValue | None = None
    """Sum of numbers, 0 without any."""
    min: PathOrValue | None = None
    """Lowest number, null without any."""
    max: PathOrValue | None = None
    """Highest number, null without any."""
    avg: PathOrValue | None = None
    """Average of numbers, null without any."""
    first: PathOrValue | None = None
    """Text of the earliest event that has one."""
    last: PathOrValue | None = None
    """Text of the latest event that has one."""
    unique: PathOrValue | None = None
    """About the number of different texts, as `unique_users` counts users."""
    count_if: str = ""
    """Number of events that meet this condition, in SQL over their fields, such as `event_type = 'purchase'`."""
    quantiles: PathOrValue | None = None
    """Quantiles of numbers, null without any: a column for each in `at`, such as `seconds_p95` of `seconds`."""
    at: Annotated[tuple[float, ...], Field(max_length=MOST_QUANTILES)] = ()
    """Which quantiles: above 0 and below 1, with up to four digits after the point."""
    collect_set: PathOrValue | None = None
    """List of the different texts, the lowest first; `NAME_cut` is 1 if there are more than `most`."""
    path: PathOrValue | None = None
    """List of the texts in the order of event time; `NAME_cut` is how many come after the first `most`."""
    most: Annotated[int, Field(ge=1, le=MOST_LISTED)] | None = None
    """The most texts of a list: 100 if it is not set."""
    digits: Annotated[int, Field(ge=0, le=MOST_DIGITS)] = 0
    """Digits after the point of the numbers; a number with more digits is left out."""

    @model_validator(mode="after")
    def _one_function(self) -> Self:
        functions = [function for function in Function if getattr(self, function)]
        if len(functions) != 1:
            raise ValueError(f"set one of {', '.join(Function)}: a measure has one function")
        if self.digits and functions[0] not in _WITH_DIGITS:
            raise ValueError(f"{functions[0]} has no digits: leave them out")
        if self.at and functions[0] is not Function.QUANTILES:
            raise ValueError(f"{functions[0]} has no quantiles: leave out at")
        if self.most and not functions[0].is_list:
            raise ValueError(f"{functions[0]} is no list: leave out most")
        if functions[0] is Function.QUANTILES:
            self._require_quantiles()
        return self

    def _require_quantiles(self) -> None:
        if not self.at:
            raise ValueError("quantiles need at: list which, such as at = [0.5, 0.95]")
        for quantile in self.at:
            if not 0 < quantile < 1:
                raise ValueError(
                    f"at has {quantile:g}: a quantile is above 0 and below 1; min and max are measures of their own"
                )
            if Decimal(str(quantile)) * WHOLE % 1:
                raise ValueError(f"at has {quantile!r}: a quantile has up to four digits after the point")
            if self.at.count(quantile) > 1:
                raise ValueError(f"at has {quantile:g} twice: list each quantile once")

    def definition(self, name: str) -> FieldMeasure:
        """Returns the measure of this name."""
        (function,) = (function for function in Function if getattr(self, function))
        if function is Function.COUNT_IF:
            return FieldMeasure(name, function, sql=self.count_if)
        values: ValueSettings = getattr(self, function)
        quantiles = sorted(int(Decimal(str(quantile)) * WHOLE) for quantile in self.at)
        most = (self.most or _LISTED) if function.is_list else 0
        return FieldMeasure(name, function, values.path, values.sql, self.digits, tuple(quantiles), most)


def measure_names(value: dict[str, MeasureSettings]) -> dict[str, MeasureSettings]:
    """Returns the measures unchanged. Raises ValueError if a name is not allowed for a column."""
    for name in value:
        if not re.fullmatch(COLUMN_NAME, name):
            raise ValueError(
                f"a measure cannot be named {quoted(name)}: start with a lower-case letter, use lower-case letters, "
                "digits and _, at most 63 characters"
            )
        if name in KEYS or name in MEASURES or is_reserved(name):
            raise ValueError(
                f"a measure cannot be named {quoted(name)}, which is a word of SQL or another column: choose another "
                f"name, such as {name}_of_events"
            )
    return value


def require_measures(name: str, report: ReportSettings, known: Iterable[str]) -> None:
    """Raises ValueError if the report `name` has a measure that is neither one of `MEASURES` nor `known`."""
    for measure in report.measures:
        if measure not in (names := [*MEASURES, *known]):
            raise ValueError(
                f"report {name}: there is no measure {quoted(measure)}: choose from {', '.join(names)}, or add it to "
                "measures"
            )


def require_room(name: str, keys: Iterable[str], own: Iterable[FieldMeasure]) -> None:
    """Raises ValueError if measures of the report `name` need more columns than there are, or columns have one name."""
    own = [*own]
    numbers, texts, sketches = counts = [
        sum(measure.function.columns for measure in own if measure.function.stored is stored)
        for stored in (NUMBERS, TEXTS, SKETCHES)
    ]
    most = [len(NUMBERS), len(TEXTS), len(SKETCHES)]
    if any(count > limit for count, limit in zip(counts, most, strict=True)):
        raise ValueError(
            f"report {name} has {numbers} numbers, {texts} texts and {sketches} sketches of fields, of which it may "
            f"have {most[0]}, {most[1]} and {most[2]}; an average is two numbers: make a second report"
        )
    columns = [*keys, *(column for measure in own for column in (*measure.measure_names, *measure.states))]
    for column in columns:
        if columns.count(column) > 1:
            raise ValueError(f"report {name} has two columns {column}: rename the measure, or the key or other measure")


def require_small_batches(reports: Mapping[str, ReportSettings], own: Mapping[str, FieldMeasure], records: int) -> None:
    """Raises ValueError if batches of this many `records` may have sums of fields that exceed 64 bits."""
    added = (Function.SUM, Function.AVG)
    for name, report in reports.items():
        sums = [measure for measure in report.measures if measure in own and own[measure].function in added]
        if sums and records > MOST_RECORDS:
            raise ValueError(f"report {name} adds up {sums[0]}: set batch.max_records to at most {MOST_RECORDS}")
