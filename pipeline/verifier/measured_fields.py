"""Measures of fields: the columns of panes that they have, what must be published of these, and in which form."""

from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.field_measures import FieldMeasure, Function
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.verifier.published_results import PublishedReport
from tidemark.pipeline.verifier.verification import Finding, Row
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_LISTED: Final = "array_agg"
_JOINS: Final = {
    Function.MIN: "min",
    Function.MAX: "max",
    Function.FIRST: "min",
    Function.LAST: "max",
    Function.UNIQUE: _LISTED,
    Function.QUANTILES: _LISTED,
    Function.COLLECT_SET: _LISTED,
    Function.PATH: _LISTED,
}
_KINDS: Final = {
    Function.FIRST: "text",
    Function.LAST: "text",
    Function.UNIQUE: "sketch",
    Function.QUANTILES: "sketch",
    Function.COLLECT_SET: "sketch",
    Function.PATH: "sketch",
}
_TYPES: Final = {"number": "BIGINT", "text": "STRING", "sketch": "BINARY"}
_NO_VALUE: Final = {Function.MIN: "2000000000000000000", Function.MAX: "-2000000000000000000"}
"""The numbers in panes that stand for no number; a result has null there."""


class StoredPart(NamedTuple):
    """A column of panes and corrections with values of a measure, and the SQL of what a row of the result has of it."""

    measure: str
    column: str
    join: str
    type: str
    published: str
    function: Function

    @property
    def is_exact(self) -> bool:
        """Whether SQL can compare the values: not those of lists of sketches."""
        return self.join != _LISTED

    def joined(self, over: str = "") -> str:
        """SQL of the joined values, of the rows that a clause `over` selects."""
        joined = f"{self.join}({self.column}) {over}"
        return f"CAST({joined} AS BIGINT)" if self.join == "sum" else joined

    def difference(self, result: PublishedReport, row: Row) -> str:
        """Returns the sentence on a row whose panes have another value."""
        return (
            f"{result.place_of(row)} shows {self.measure} {row['actual']!r}, but its panes and corrections have "
            f"{row['expected']!r}"
        )


def stored_parts(report: Report) -> list[StoredPart]:
    """Returns the columns that a report's measures of fields have: in the order of names the next one of their kind."""
    parts, count = list[StoredPart](), dict.fromkeys(_TYPES, 0)
    for measure in report.field_measures:
        kind, join = _KINDS.get(measure.function, "number"), _JOINS.get(measure.function, "sum")
        for published in _published_sql(measure):
            count[kind] += 1
            column = f"{kind}_{count[kind]}"
            parts.append(StoredPart(measure.name, column, join, _TYPES[kind], published, measure.function))
    return parts


def exact_parts(report: Report) -> list[StoredPart]:
    """Returns the parts that can be compared as they are: all but sketches."""
    return [part for part in stored_parts(report) if part.is_exact]


def _published_sql(measure: FieldMeasure) -> Iterator[str]:
    name = measure.name
    match measure.function:
        case Function.AVG:
            yield from (f"{name}_sum", f"{name}_values")
        case Function.FIRST | Function.LAST:
            yield f"{name}_after_time"
        case Function.QUANTILES | Function.COLLECT_SET | Function.PATH:
            yield f"{name}_sketch"
        case _:
            number = f"CAST({name} * {10**measure.digits} AS BIGINT)" if measure.digits else name
            lacking = _NO_VALUE.get(measure.function)
            yield f"coalesce({number}, {lacking})" if lacking else number


def check_display(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    """Checks that measures are those of the columns that they are made of."""
    for name, expected in _made_of_columns(result.report):
        rows = f"SELECT *, {name} AS actual, {expected} AS expected FROM {result.table}"
        wrong = f"SELECT * FROM ({rows}) AS rows WHERE actual IS DISTINCT FROM expected ORDER BY start_ms, end_ms"
        finding.report_rows(tables.ask(wrong), partial(_display_difference, result, name))


def _made_of_columns(report: Report) -> Iterator[tuple[str, str]]:
    """Yields measures that are made of other columns of their rows, with the SQL of that."""
    if c.BOUNCED in report.measures:
        yield c.BOUNCED, "CASE WHEN page_views = 1 AND clicks = 0 THEN 1 ELSE 0 END"
    if c.DURATION_MS in report.measures and isinstance(report.windows, Sessions):
        yield c.DURATION_MS, f"end_ms - start_ms - {report.windows.gap_ms}"
    for measure in report.field_measures:
        name = measure.name
        match measure.function:
            case Function.AVG:
                yield name, f"{name}_sum / nullif({name}_values * CAST({10**measure.digits} AS DOUBLE), 0)"
            case Function.FIRST | Function.LAST:
                yield name, f"CASE WHEN length({name}_after_time) > 19 THEN substr({name}_after_time, 21) END"
            case _:
                pass


def _display_difference(result: PublishedReport, name: str, row: Row) -> str:
    """Returns the sentence on a row whose measure is not that of its other columns."""
    return f"{result.place_of(row)} shows {name} {row['actual']!r}, but its other columns make {row['expected']!r}"
