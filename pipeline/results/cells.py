"""Corrections that are added to rows of a report's table."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from pipeline import columns as c
from pipeline.event_time.reports import Report
from pipeline.instants import moment
from pipeline.measures import Display, Join, Measure
from pipeline.sketches import merged, sketch_of
from pipeline.tables.query import Row

_JOINED: Final[Mapping[Join, Callable[[Any, Any], Any]]] = {
    Join.SUM: lambda one, other: one + other,
    Join.MIN: min,
    Join.MAX: max,
    Join.SKETCH: lambda one, other: merged([one, other]),
}


def corrected(shown: Iterable[Row], rows: Iterable[Row], report: Report, *, grows: bool) -> list[Row]:
    """Rows of a report's table with corrections added; of measures only the states are right.

    An event adds to the row of its keys and window; where windows grow, to all rows of its keys that its own window
    meets, which it joins to one.
    """
    names = report.keys if grows else (c.WINDOW_START, c.WINDOW_END, *report.keys)
    alike = defaultdict[tuple[Any, ...], list[Row]](list)
    for row in shown:
        alike[tuple(row[name] for name in names)].append(row)
    for row in rows:
        new = _alone(row, report)
        there, start, end = alike[tuple(new[name] for name in names)], new[c.WINDOW_START], new[c.WINDOW_END]
        for one in [one for one in there if one[c.WINDOW_START] <= end and start <= one[c.WINDOW_END]]:
            there.remove(one)
            new = _joined(one, new, report)
        there.append(new)
    return [row for some in alike.values() for row in some]


def _alone(row: Row, report: Report) -> Row:
    """The row that the event of a correction is alone."""
    window = {c.WINDOW_START: moment(row[c.WINDOW_START_MS]), c.WINDOW_END: moment(row[c.WINDOW_END_MS])}
    keys = {key: row[key] for key in report.keys}
    states = {one.state or one.name: _state(row, one) for one in report.tells}
    return {**window, **keys, **states, c.LATE_EVENTS: row[c.LATE_EVENTS], c.PUBLISHED_BATCH: 0}


def _joined(one: Row, other: Row, report: Report) -> Row:
    """Two rows as one, from the earlier begin to the later end; of measures only the states are right."""
    found = {
        c.WINDOW_START: min(one[c.WINDOW_START], other[c.WINDOW_START]),
        c.WINDOW_END: max(one[c.WINDOW_END], other[c.WINDOW_END]),
        c.LATE_EVENTS: one[c.LATE_EVENTS] + other[c.LATE_EVENTS],
        c.PUBLISHED_BATCH: max(one[c.PUBLISHED_BATCH], other[c.PUBLISHED_BATCH]),
    }
    for measure in report.tells:
        state = measure.state or measure.name
        found[state] = _JOINED[measure.part.join](one[state], other[state])
    return {**one, **found}


def _state(row: Row, measure: Measure) -> Any:
    """The state of a measure, of one event."""
    value = row[measure.part.name]
    if measure.display is Display.MOMENT:
        return moment(value)
    return sketch_of([value]) if measure.part.join is Join.SKETCH else value
