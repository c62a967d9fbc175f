"""Corrections that are in the rows of a report: a publication that replaces the rows adds them again.

So the rows are a function of panes and corrections, in whatever order publications and `tidemark correct` commit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.instants import moment
from tidemark.pipeline.results.cells import add_corrections
from tidemark.pipeline.results.measure_sql import with_measures_from_states
from tidemark.pipeline.tables.query import Row, rows_of
from tidemark.pipeline.tables.schemas import CORRECTIONS, result_of


@dataclass(frozen=True, slots=True)
class AppliedCorrections:
    """The corrections up to id `last`, which are in the rows of a table; 0 without corrections."""

    warehouse: str
    last: int

    def rows(self, report: Report, after: int, until: int) -> list[Row]:
        """Returns the corrections of a report whose windows end after `after` and at or before `until` (ms)."""
        if not self.last:
            return []
        condition = f"correction <= {self.last} AND window_end_ms > {after} AND window_end_ms <= {until}"
        return corrections_of(report, DeltaTable(CORRECTIONS.uri(self.warehouse)), condition)


def corrections_of(report: Report, corrections: DeltaTable, condition: str) -> list[Row]:
    """Returns the corrections of a report that fulfil an SQL condition, by id, with the columns that panes have."""
    renamed = [part for part in dict.fromkeys(report.stored_parts.values()) if part.corrected != part.name]
    parts = "".join(f", {part.corrected} AS {part.name}" for part in renamed)
    return rows_of(
        f"SELECT *{report.typed_keys_sql}{parts} FROM corrections "  # noqa: S608 - ours
        f"WHERE report = '{report.name}' AND {condition} ORDER BY correction",
        corrections=corrections,
    )


def with_corrections(rows: pa.Table, corrections: Sequence[Row], report: Report, *, grows: bool) -> pa.Table:
    """Returns rows of a report's table with corrections added. `grows`: a correction joins sessions it meets."""
    if not corrections:
        return rows
    schema = result_of(report).schema
    rows = rows.select(schema.names).cast(schema)
    concerned = _concerned(rows, corrections, report, grows=grows)
    added = add_corrections(rows.filter(concerned).to_pylist(), corrections, report, grows=grows)
    return pa.concat_tables(
        [rows.filter(pc.invert(concerned)), with_measures_from_states(pa.Table.from_pylist(added, schema), report)]
    )


def _concerned(rows: pa.Table, corrections: Sequence[Row], report: Report, *, grows: bool) -> pa.ChunkedArray:
    """Flags rows that a correction may change: by their window, or by the first key if windows grow."""
    if not grows:
        column, values = c.WINDOW_END, {moment(row[c.WINDOW_END_MS]) for row in corrections}
    elif report.keys:
        column, values = report.keys[0], {row[report.keys[0]] for row in corrections}
    else:
        return pa.chunked_array([pa.repeat(pa.scalar(value=True), len(rows))])
    return pc.is_in(rows[column], value_set=pa.array(values, rows.schema.field(column).type))
