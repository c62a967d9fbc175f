"""One row of a report's table, and corrections that are added to it."""

from pipeline.frames import columns as c
from pipeline.sketches import estimate, merged, sketch_of
from pipeline.tables.query import Row
from pipeline.tables.results import moment
from pipeline.time.report import Report

_SUMS = (c.PAGE_VIEWS, c.CLICKS, c.LATE_EVENTS)


def nothing(row: Row, report: Report) -> Row:
    """The cell of a report's table to which a correction belongs, before it is added."""
    window = {c.WINDOW_START: moment(row[c.WINDOW_START_MS]), c.WINDOW_END: moment(row[c.WINDOW_END_MS])}
    counts = dict.fromkeys((*report.measures, c.LATE_EVENTS, c.PUBLISHED_BATCH), 0)
    cell: Row = {**window, **{key: row[key] for key in report.keys}, **counts}
    if c.UNIQUE_USERS in report.measures:
        cell[c.USERS_SKETCH] = sketch_of([])
    return cell


def added(cell: Row, row: Row) -> Row:
    """What a report does not tell is not in the cell. Of which session an event was is not known any more."""
    found: Row = {**cell, **{name: cell[name] + row[name] for name in _SUMS if name in cell}}
    if c.USERS_SKETCH in cell:
        found[c.USERS_SKETCH] = merged([cell[c.USERS_SKETCH], sketch_of([row[c.USER_ID]])])
        found[c.UNIQUE_USERS] = estimate(found[c.USERS_SKETCH])
    return found
