"""The latest windows of a report, added up over its keys; cheap enough to be asked once a second."""

from datetime import UTC, datetime, timedelta
from typing import Final

from pipeline import columns as c
from pipeline.event_time.reports import Report
from pipeline.measures import Display, Measure
from pipeline.tables.file_statistics import highest
from pipeline.tables.query import Row, rows_of
from pipeline.tables.schemas import find_table

_WINDOWS: Final = 5


def latest_windows(warehouse: str, report: Report) -> list[Row]:
    """Those in the time that the last few span, newest first: start, end, `rows` and what can be added up of them.

    Delta's statistics keep older files closed. A report without a table has none.
    """
    table = find_table(report.name, warehouse)
    if table is None or (end := highest(table, c.WINDOW_END)) is None:
        return []
    newest = rows_of(f"SELECT window_start FROM it WHERE window_end = {_literal(end)} LIMIT 1", it=table)  # noqa: S608 - ours
    sums = "".join(
        f", sum({name}) AS {name}" for name in (*(measure.name for measure in additive_measures(report)), c.LATE_EVENTS)
    )
    return rows_of(
        f"SELECT window_start, window_end, count(*) AS rows{sums} FROM it "  # noqa: S608 - our own names
        f"WHERE window_end > {_literal(end - _WINDOWS * (end - newest[0][c.WINDOW_START]))} "
        f"GROUP BY 1, 2 ORDER BY 2 DESC, 1 DESC LIMIT {_WINDOWS}",
        it=table,
    )


def additive_measures(report: Report) -> list[Measure]:
    """Returns the measures that can be summed over the rows of a window. Users of several rows may be the same."""
    return [
        measure
        for measure in report.chosen_measures
        if measure.adds_up or (measure.display is Display.ESTIMATE and not report.keys)
    ]


def _literal(moment: datetime) -> str:
    return f"to_timestamp_micros({(moment - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)})"
