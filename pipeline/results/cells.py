"""Adding corrections to rows of a report's table."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.instants import moment
from tidemark.pipeline.measures import Display, Join, Measure, Part
from tidemark.pipeline.results.measure_display import exact
from tidemark.pipeline.results.measure_sql import MERGED, Merge
from tidemark.pipeline.sketches import sketch_of
from tidemark.pipeline.tables.query import Row


def _merge(merged: Merge, left: bytes, right: bytes) -> bytes:
    return merged([left, right])


_JOINS: Final[Mapping[Join, Callable[[Any, Any], Any]]] = {
    Join.SUM: lambda left, right: left + right,
    Join.MIN: min,
    Join.MAX: max,
    **{join: partial(_merge, merged) for join, merged in MERGED.items()},
}


def add_corrections(rows: Iterable[Row], corrections: Iterable[Row], report: Report, *, grows: bool) -> list[Row]:
    """Returns rows of a report's table with corrections added. Only the states of measures are valid.

    A correction adds to the row of its keys and window. If windows grow, it joins all rows of its keys that its own
    window meets.
    """
    names = report.keys if grows else (c.WINDOW_START, c.WINDOW_END, *report.keys)
    groups = defaultdict[tuple[Any, ...], list[Row]](list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    for correction in corrections:
        new = _row_of_correction(correction, report)
        group, start, end = groups[tuple(new[name] for name in names)], new[c.WINDOW_START], new[c.WINDOW_END]
        for row in [row for row in group if row[c.WINDOW_START] <= end and start <= row[c.WINDOW_END]]:
            group.remove(row)
            new = _joined(row, new, report)
        group.append(new)
    return [row for group in groups.values() for row in group]


def _row_of_correction(row: Row, report: Report) -> Row:
    """Returns the row of a window that contains only the event of a correction."""
    window = {c.WINDOW_START: moment(row[c.WINDOW_START_MS]), c.WINDOW_END: moment(row[c.WINDOW_END_MS])}
    keys = {key: row[key] for key in report.keys}
    states = {
        name: _state_of_event(row[part.name], part, measure)
        for measure in report.chosen_measures
        for name, part in measure.stored.items()
    }
    return {**window, **keys, **states, c.LATE_EVENTS: row[c.LATE_EVENTS], c.PUBLISHED_BATCH: 0}


def _joined(left: Row, right: Row, report: Report) -> Row:
    """Joins two rows, from the earlier start to the later end. Only the states of measures are valid."""
    joined = {
        c.WINDOW_START: min(left[c.WINDOW_START], right[c.WINDOW_START]),
        c.WINDOW_END: max(left[c.WINDOW_END], right[c.WINDOW_END]),
        c.LATE_EVENTS: left[c.LATE_EVENTS] + right[c.LATE_EVENTS],
        c.PUBLISHED_BATCH: max(left[c.PUBLISHED_BATCH], right[c.PUBLISHED_BATCH]),
    }
    states = {name: _join(part.join, left[name], right[name]) for name, part in report.stored_parts.items()}
    return {**left, **joined, **states}


def _join(join: Join, left: Any, right: Any) -> Any:
    """Joins two states; a measure without a value is null."""
    if left is None or right is None:
        return left if right is None else right
    return _JOINS[join](left, right)


def _state_of_event(value: Any, part: Part, measure: Measure) -> Any:
    """Returns the state of a measure in a window that has only the event of a correction, whose part is `value`."""
    if part.join.is_sketch:
        return value if part.corrected == part.name else sketch_of([value])
    match measure.display:
        case Display.MOMENT:
            return moment(value)
        case Display.EXACT:
            return exact(value, measure)
        case _:
            return value
