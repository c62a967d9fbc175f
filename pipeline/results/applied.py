"""The corrections that a report's table has: a publication that replaces its rows adds them again.

So the rows of a report are a function of its panes and of these corrections, in whatever order a publication and
`tidemark correct` come to the table.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from pipeline import columns as c
from pipeline.event_time.reports import Report
from pipeline.instants import moment
from pipeline.results.cells import corrected
from pipeline.results.measure_sql import shown_anew
from pipeline.tables.query import Row, rows_of
from pipeline.tables.schemas import CORRECTIONS, result_of


@dataclass(frozen=True, slots=True)
class Applied:
    """The corrections that a table has, by the number of the last one; 0 if it has no corrections."""

    warehouse: str
    last: int

    def rows(self, report: Report, after: int, until: int) -> list[Row]:
        """Returns those whose windows end after one time and not after the other, in milliseconds."""
        if not self.last:
            return []
        among = f"correction <= {self.last} AND window_end_ms > {after} AND window_end_ms <= {until}"
        return corrections_of(report, DeltaTable(CORRECTIONS.uri(self.warehouse)), among)


NO_CORRECTIONS = Applied("", 0)


def corrections_of(report: Report, corrections: DeltaTable, among: str) -> list[Row]:
    """Returns the corrections of a report for which a condition holds, in order, with its parts as panes have them."""
    renamed = dict.fromkeys(one.part for one in report.chosen_measures if one.part.corrected != one.part.name)
    parts = "".join(f", {part.corrected} AS {part.name}" for part in renamed)
    return rows_of(
        f"SELECT *{parts} FROM corrections WHERE report = '{report.name}' AND {among} ORDER BY correction",  # noqa: S608 - ours
        corrections=corrections,
    )


def with_corrections(rows: pa.Table, corrections: Sequence[Row], report: Report, *, grows: bool) -> pa.Table:
    """Returns rows of a report's table with corrections added. `grows`: sessions that they meet become one."""
    if not corrections:
        return rows
    schema = result_of(report).schema
    rows = rows.select(schema.names).cast(schema)
    concerned = _concerned(rows, corrections, report, grows=grows)
    added = corrected(rows.filter(concerned).to_pylist(), corrections, report, grows=grows)
    return pa.concat_tables(
        [rows.filter(pc.invert(concerned)), shown_anew(pa.Table.from_pylist(added, schema), report)]
    )


def _concerned(rows: pa.Table, corrections: Sequence[Row], report: Report, *, grows: bool) -> pa.ChunkedArray:
    """Returns for each row whether a correction may change it: by its window, or by a key where windows grow."""
    if not grows:
        column, values = c.WINDOW_END, {moment(row[c.WINDOW_END_MS]) for row in corrections}
    elif report.keys:
        column, values = report.keys[0], {row[report.keys[0]] for row in corrections}
    else:
        return pa.chunked_array([pa.repeat(pa.scalar(value=True), len(rows))])
    return pc.is_in(rows[column], value_set=pa.array(values, rows.schema.field(column).type))
