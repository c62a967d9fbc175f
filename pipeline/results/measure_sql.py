"""Measures: SQL over panes, columns of results, and columns of live views."""

from collections.abc import Callable, Mapping
from typing import Final, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from tidemark.pipeline.event_time.policy import Consumer
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.measures import TIME_DIGITS, Display, Join, Measure, Part
from tidemark.pipeline.results.result_table import timestamps
from tidemark.pipeline.sketches import estimate, merged, sketch_of
from tidemark.pipeline.tables.engines import Engine

_MEASURE_OF_STATE: Final[Mapping[Display, Callable[[pa.ChunkedArray], pa.ChunkedArray]]] = {
    Display.NUMBER: lambda joined: joined,
    Display.ESTIMATE: lambda joined: _each(estimate, joined, pa.int64()),
    Display.MOMENT: timestamps,
    Display.TEXT_AFTER_TIME: lambda joined: pc.if_else(
        pc.greater(pc.utf8_length(joined), TIME_DIGITS), pc.utf8_slice_codeunits(joined, TIME_DIGITS + 1), None
    ),
}


def joined_parts_sql(consumer: Consumer) -> str:
    """Returns SQL of delta-rs that joins each part over rows, sketches as lists; a comma follows each column."""
    return "".join(f"{_joined_sql(part)} AS {part.name}, " for part in consumer.parts)


def window_measures_sql(report: Report) -> str:
    """Returns SQL of delta-rs for parts and measures over the panes of a window; a comma follows each column."""
    listed = {measure.part for measure in report.chosen_measures if measure.part.join is Join.SKETCH} - {*report.parts}
    users = "".join(f"array_agg(DISTINCT {part.fold}) AS {part.name}, " for part in listed)
    measures = "".join(f"{measure.sql} AS {measure.name}, " for measure in report.chosen_measures if measure.sql)
    return joined_parts_sql(report) + users + measures


def measure_columns(rows: pa.Table, report: Report) -> dict[str, pa.ChunkedArray]:
    """Returns measures and their states, by column, from rows in which the parts of windows are joined."""
    columns = dict[str, pa.ChunkedArray]()
    for measure in report.chosen_measures:
        part = measure.part
        values = _of_lists(rows, part, report) if part.join is Join.SKETCH else rows[part.name]
        state = values.cast(pa.type_for_alias(part.type))
        columns |= {measure.state or measure.name: state} | {measure.name: _MEASURE_OF_STATE[measure.display](state)}
    return columns


def with_measures_from_states(rows: pa.Table, report: Report) -> pa.Table:
    """Recomputes the measures of rows of a result from their states."""
    for measure in report.chosen_measures:
        if measure.state:
            index = rows.schema.get_field_index(measure.name)
            values = _MEASURE_OF_STATE[measure.display](rows[measure.state])
            rows = rows.set_column(index, rows.schema.field(index), values)
    return rows


def with_merged_sketches(rows: pa.Table, report: Report) -> pa.Table:
    """Returns rows of panes with each list of sketches merged to one sketch."""
    for part in report.parts:
        if part.join is Join.SKETCH:
            rows = rows.set_column(rows.schema.get_field_index(part.name), part.name, _of_lists(rows, part, report))
    return rows


def so_far_sql(measure: Measure, report: Report, engine: Engine) -> str:
    """Returns SQL of a measure of an open window; NULL if the panes lack it or the engine cannot compute it."""
    part = measure.part
    if measure.sql:
        return "NULL"
    if part.join is Join.SKETCH:
        if part not in report.parts:
            return f"count(DISTINCT {part.fold})"
        return f"hll_sketch_estimate(hll_union_agg({part.name}))" if engine == Engine.SPARK else "NULL"
    return _measure_sql(measure, _joined_sql(part), engine)


def measures_sql(report: Report, engine: Engine) -> dict[str, str]:
    """Returns SQL of measures and their states, by column, over rows in which the parts of windows are joined."""
    columns = dict[str, str]()
    for measure in report.chosen_measures:
        columns |= {measure.state: measure.part.name} if measure.state else {}
        columns[measure.name] = measure.name if measure.sql else _measure_sql(measure, measure.part.name, engine)
    return columns


def _measure_sql(measure: Measure, joined: str, engine: Engine) -> str:
    match measure.display:
        case Display.MOMENT:
            return engine.time(joined)
        case Display.TEXT_AFTER_TIME:
            return f"CASE WHEN length({joined}) > {TIME_DIGITS} THEN substr({joined}, {TIME_DIGITS + 2}) END"
        case Display.NUMBER | Display.ESTIMATE:
            # The type of the result: DuckDB's sums have 128 bits.
            return f"CAST({joined} AS BIGINT)"
        case _:
            assert_never(measure.display)


def _joined_sql(part: Part) -> str:
    if part.join is Join.SKETCH:
        return f"array_agg({part.name})"
    return f"{part.join}(coalesce({part.name}, {part.if_null}))" if part.if_null else f"{part.join}({part.name})"


def _of_lists(rows: pa.Table, part: Part, report: Report) -> pa.ChunkedArray:
    """Returns a sketch of each list of sketches, or of values if panes contain values."""
    return _each(merged if part in report.parts else sketch_of, rows[part.name], pa.type_for_alias(part.type))


def _each(function: Callable[..., object], values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(map(function, values.to_pylist()), kind)])
