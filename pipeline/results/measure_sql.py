"""Measures in tables: SQL over panes, columns of results, and what stands in a live view."""

from collections.abc import Callable, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.event_time.policy import Consumer
from pipeline.event_time.reports import Report
from pipeline.measures import TIME_DIGITS, Display, Join, Measure, Part
from pipeline.results.result_table import moments
from pipeline.sketches import estimate, merged, sketch_of
from pipeline.tables.engines import Engine

_SHOWN: Final[Mapping[Display, Callable[[pa.ChunkedArray], pa.ChunkedArray]]] = {
    Display.NUMBER: lambda joined: joined,
    Display.ESTIMATE: lambda joined: _each(estimate, joined, pa.int64()),
    Display.MOMENT: moments,
    Display.TEXT_AFTER_TIME: lambda joined: pc.if_else(
        pc.greater(pc.utf8_length(joined), TIME_DIGITS), pc.utf8_slice_codeunits(joined, TIME_DIGITS + 1), None
    ),
}


def joined_parts(consumer: Consumer) -> str:
    """SQL of delta-rs, in front of further columns: what its parts join to in several rows; sketches are listed."""
    return "".join(f"{_joined(part)} AS {part.name}, " for part in consumer.parts)


def of_window(report: Report) -> str:
    """The same of the panes of a window, and what only these tell."""
    listed = {one.part for one in report.tells if one.part.join is Join.SKETCH} - {*report.parts}
    users = "".join(f"array_agg(DISTINCT {part.fold}) AS {part.name}, " for part in listed)
    return joined_parts(report) + users + "".join(f"{one.sql} AS {one.name}, " for one in report.tells if one.sql)


def shown(rows: pa.Table, report: Report) -> dict[str, pa.ChunkedArray]:
    """Measures and the states beside them, of rows in which the parts of windows have joined."""
    found = dict[str, pa.ChunkedArray]()
    for one in report.tells:
        part = one.part
        values = _of_lists(rows, part, report) if part.join is Join.SKETCH else rows[part.name]
        state = values.cast(pa.type_for_alias(part.type))
        found |= {one.state or one.name: state} | {one.name: _SHOWN[one.display](state)}
    return found


def shown_anew(rows: pa.Table, report: Report) -> pa.Table:
    """Rows of a result of which only the states are right."""
    for one in report.tells:
        if one.state:
            place = rows.schema.get_field_index(one.name)
            rows = rows.set_column(place, rows.schema.field(place), _SHOWN[one.display](rows[one.state]))
    return rows


def sketches_joined(rows: pa.Table, report: Report) -> pa.Table:
    """Rows of panes in which sketches are listed, with the one that they join to."""
    for part in report.parts:
        if part.join is Join.SKETCH:
            rows = rows.set_column(rows.schema.get_field_index(part.name), part.name, _of_lists(rows, part, report))
    return rows


def so_far(measure: Measure, report: Report, engine: Engine) -> str:
    """SQL of an engine: a measure of a window that is open; NULL where the panes or the engine cannot tell it."""
    part = measure.part
    if measure.sql:
        return "NULL"
    if part.join is Join.SKETCH:
        if part not in report.parts:
            return f"count(DISTINCT {part.fold})"
        return f"hll_sketch_estimate(hll_union_agg({part.name}))" if engine == Engine.SPARK else "NULL"
    return _shown_in_sql(measure, _joined(part), engine)


def shown_in_sql(report: Report, engine: Engine) -> dict[str, str]:
    """SQL of measures and the states beside them, of rows in which the parts of windows have joined."""
    found = dict[str, str]()
    for one in report.tells:
        found |= {one.state: one.part.name} if one.state else {}
        found[one.name] = one.name if one.sql else _shown_in_sql(one, one.part.name, engine)
    return found


def _shown_in_sql(measure: Measure, joined: str, engine: Engine) -> str:
    if measure.display is Display.MOMENT:
        return engine.time(joined)
    if measure.display is Display.TEXT_AFTER_TIME:
        return f"CASE WHEN length({joined}) > {TIME_DIGITS} THEN substr({joined}, {TIME_DIGITS + 2}) END"
    # As the result has it: DuckDB adds up to numbers of twice the size.
    return f"CAST({joined} AS BIGINT)"


def _joined(part: Part) -> str:
    return f"array_agg({part.name})" if part.join is Join.SKETCH else f"{part.join}({part.name})"


def _of_lists(rows: pa.Table, part: Part, report: Report) -> pa.ChunkedArray:
    """One sketch of each list of sketches, or of values where panes keep these."""
    return _each(merged if part in report.parts else sketch_of, rows[part.name], pa.type_for_alias(part.type))


def _each(function: Callable[..., object], values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(map(function, values.to_pylist()), kind)])
