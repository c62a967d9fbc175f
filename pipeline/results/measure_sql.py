"""Measures: SQL over panes, columns of results, and columns of live views."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import pyarrow as pa

from tidemark.pipeline import ddsketch, sketches, value_lists
from tidemark.pipeline.event_time.policy import Consumer
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.measures import Join, Measure, Part
from tidemark.pipeline.results.measure_display import displayed, displayed_sql, each
from tidemark.pipeline.tables.engines import Engine

Merge = Callable[[Iterable[bytes]], bytes]
MERGED: Final[Mapping[Join, Merge]] = {
    Join.SKETCH: sketches.merged,
    Join.DDSKETCH: ddsketch.merged,
    Join.SET: value_lists.merged_sets,
    Join.PATH: value_lists.merged_paths,
}
"""How sketches and lists are merged, by their kind."""


def joined_parts_sql(consumer: Consumer) -> str:
    """Returns SQL of delta-rs that joins each part over rows, sketches as lists; a comma follows each column."""
    return "".join(f"{joined_sql(part)} AS {part.name}, " for part in consumer.parts)


def window_measures_sql(report: Report) -> str:
    """Returns SQL of delta-rs for parts and measures over the panes of a window; a comma follows each column."""
    listed = {measure.part for measure in report.chosen_measures if measure.part.join.is_sketch} - {*report.parts}
    users = "".join(f"array_agg(DISTINCT {part.fold}) AS {part.name}, " for part in listed)
    measures = "".join(f"{measure.sql} AS {measure.name}, " for measure in report.chosen_measures if measure.sql)
    return joined_parts_sql(report) + users + measures


def measure_columns(rows: pa.Table, report: Report) -> dict[str, pa.ChunkedArray]:
    """Returns measures and their states, by column, from rows in which the parts of windows are joined."""
    stored = {name: _joined_values(rows, part, report) for name, part in report.stored_parts.items()}
    measures = report.chosen_measures
    shown = {measure.name: displayed(measure, [stored[name] for name in measure.stored]) for measure in measures}
    return stored | shown


def _joined_values(rows: pa.Table, part: Part, report: Report) -> pa.ChunkedArray:
    values = rows[part.name]
    if pa.types.is_list(values.type):
        values = _of_lists(rows, part, report)
    return values.cast(pa.type_for_alias(part.type))


def with_measures_from_states(rows: pa.Table, report: Report) -> pa.Table:
    """Recomputes the measures of rows of a result from their states."""
    for measure in report.chosen_measures:
        if measure.states:
            index = rows.schema.get_field_index(measure.name)
            values = displayed(measure, [rows[state] for state in measure.states])
            rows = rows.set_column(index, rows.schema.field(index), values)
    return rows


def with_merged_sketches(rows: pa.Table, report: Report) -> pa.Table:
    """Returns rows of panes with each list of sketches merged to one sketch."""
    for part in report.parts:
        if part.join.is_sketch:
            rows = rows.set_column(rows.schema.get_field_index(part.name), part.name, _of_lists(rows, part, report))
    return rows


def so_far_sql(measure: Measure, report: Report, engine: Engine) -> str:
    """Returns SQL of a measure of an open window; NULL if the panes lack it or the engine cannot compute it."""
    part = measure.part
    if measure.sql:
        return "NULL"
    if part.join.is_sketch:
        if part not in report.parts:
            return f"count(DISTINCT {part.fold})"
        can_merge = engine == Engine.SPARK and part.join is Join.SKETCH
        return f"hll_sketch_estimate(hll_union_agg({part.name}))" if can_merge else "NULL"
    return displayed_sql(measure, [*map(joined_sql, measure.stored.values())], engine)


def measures_sql(report: Report, engine: Engine) -> dict[str, str]:
    """Returns SQL of measures and their states, by column, over rows in which the parts of windows are joined."""
    columns = dict[str, str]()
    for measure in report.chosen_measures:
        columns |= {name: part.name for name, part in measure.stored.items()}
        joined = [part.name for part in measure.stored.values()]
        columns[measure.name] = measure.name if measure.sql else displayed_sql(measure, joined, engine)
    return columns


def joined_sql(part: Part) -> str:
    """Returns SQL of any engine that joins a part over rows, sketches as a list."""
    if part.join.is_sketch:
        return f"array_agg({part.name})"
    if part.is_exact:  # engines have no error, or other errors, where a sum exceeds 64 bits
        return f"CAST(sum(CAST({part.name} AS DECIMAL(38, 0))) AS BIGINT)"
    return f"{part.join}(coalesce({part.name}, {part.if_null}))" if part.if_null else f"{part.join}({part.name})"


def _of_lists(rows: pa.Table, part: Part, report: Report) -> pa.ChunkedArray:
    """Returns a sketch of each list of sketches, or of values if panes contain values."""
    merge = MERGED[part.join] if part in report.parts else sketches.sketch_of
    return each(merge, rows[part.name], pa.type_for_alias(part.type))
