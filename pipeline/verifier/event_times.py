"""Times in rows of results: of the first event, of the last event, and of the event with the last page."""

from functools import partial
from typing import Final, NamedTuple, assert_never

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.windows.count import CountWindows
from tidemark.pipeline.event_time.windows.kinds import AnyWindows
from tidemark.pipeline.event_time.windows.periodic import Periodic
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.verifier import quantiles, text_lists
from tidemark.pipeline.verifier.measured_fields import check_display, exact_parts
from tidemark.pipeline.verifier.periodic_sums import with_sums
from tidemark.pipeline.verifier.published_results import PublishedReport
from tidemark.pipeline.verifier.verification import Finding, Row, time_text
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_TIMES_SQL: Final = {
    c.FIRST_SEEN: "first_seen_ms",
    c.LAST_SEEN: "last_seen_ms",
    c.LAST_PAGE_URL: "TRY_CAST(substr(last_page, 1, 19) AS BIGINT)",
}
_PAGE_SQL: Final = "concat_ws(' ', lpad(CAST(event_time AS STRING), 19, '0'), page_url)"


class _Source(NamedTuple):
    """The SQL of a measure: how parts are joined, their type and columns, and the published value."""

    join: str
    type: str
    part: str
    """The column of panes."""
    correction: str
    """The value of a correction."""
    published: str


_SOURCES: Final = {
    c.FIRST_SEEN: _Source("min", "BIGINT", "first_time", "event_time", _TIMES_SQL[c.FIRST_SEEN]),
    c.LAST_SEEN: _Source("max", "BIGINT", "last_time", "event_time", _TIMES_SQL[c.LAST_SEEN]),
    c.LAST_PAGE_URL: _Source("max", "STRING", "last_page", _PAGE_SQL, "last_page"),
}
_WRONG_SQL: Final = """
{with_sums} SELECT {cell}, actual, expected FROM (
  SELECT {cell}, max(actual) AS actual, {join}(expected) AS expected, sum(actual_rows) AS actual_rows FROM (
    SELECT {cell}, {published} AS actual, CAST(NULL AS {type}) AS expected, 1 AS actual_rows
    FROM {table} JOIN windows ON start_ms = a AND end_ms = b WHERE has_panes = 1 AND {is_whole}
    UNION ALL SELECT {cell}, NULL, {part}, 0 FROM placed
    WHERE pane_start >= start_ms AND end_ms <= {watermark} AND {is_whole}
    UNION ALL SELECT {cell}, NULL, {correction}, 0 FROM added
  ) AS both GROUP BY {cell}
) AS cells
WHERE actual_rows > 0 AND expected IS NOT NULL AND actual IS DISTINCT FROM expected ORDER BY start_ms, end_ms
"""


def check(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    """Compares each cell of grid, cumulating and calendar windows that have lost no panes."""
    for measure in [name for name in result.report.measures if name in _SOURCES]:
        wrong = _wrong_sql(tables, result, _SOURCES[measure])
        finding.report_rows(tables.ask(wrong), partial(_difference, result, measure))


def _wrong_sql(tables: WarehouseSnapshot, result: PublishedReport, source: _Source) -> str:
    return _WRONG_SQL.format(
        **source._asdict(),
        with_sums=with_sums(tables, result),
        cell=", ".join(result.cell),
        table=result.table,
        is_whole=result.is_whole_sql,
        watermark=result.watermark,
    )


def _difference(result: PublishedReport, measure: str, row: Row) -> str:
    """Returns the sentence on a cell whose panes have another value."""
    values = (row["actual"], row["expected"])
    actual, expected = (time_text(value) if isinstance(value, int) else repr(value) for value in values)
    return f"{result.place_of(row)} shows {measure} {actual}, but its panes and corrections have {expected}"


def check_fields(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    """Compares the measures of fields of each cell that has lost no panes."""
    for part in exact_parts(result.report):
        source = _Source(part.join, part.type, part.column, part.column, part.published)
        finding.report_rows(tables.ask(_wrong_sql(tables, result, source)), partial(part.difference, result))


def check_fit(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    """Checks that times lie in their window, in order, and at its ends if events determine it; and that pages agree."""
    times = {name: _TIMES_SQL[name] for name in result.report.measures if name in _TIMES_SQL}
    check_display(tables, result, finding)
    quantiles.check_display(tables, result, finding)
    text_lists.check_display(tables, result, finding)
    violations = [f"{time} IS NULL OR {time} < start_ms OR {time} >= end_ms" for time in times.values()]
    if {c.FIRST_SEEN, c.LAST_SEEN} <= times.keys():
        violations.append(f"{times[c.FIRST_SEEN]} > {times[c.LAST_SEEN]}")
    if after := after_last_ms(result.report.windows):
        violations += [f"{times[name]} <> start_ms" for name in (c.FIRST_SEEN,) if name in times]
        violations += [f"{times[name]} + {after} <> end_ms" for name in (c.LAST_SEEN, c.LAST_PAGE_URL) if name in times]
    if c.LAST_PAGE_URL in times:
        page = "CASE WHEN length(last_page) > 19 THEN substr(last_page, 21) END"
        violations.append(f"last_page_url IS DISTINCT FROM {page}")
    if not violations:
        return
    columns = ", ".join(f"{time} AS time_of_{name}" for name, time in times.items())
    rows = f"SELECT *, {columns} FROM {result.table} WHERE {' OR '.join(violations)} ORDER BY start_ms, end_ms"
    finding.report_rows(
        tables.ask(rows),
        lambda row: (
            f"{result.place_of(row)} shows "
            + " and ".join(f"{name} at {time_text(row[f'time_of_{name}'])}" for name in times)
            + ", which does not fit"
        ),
    )


def after_last_ms(windows: AnyWindows) -> int:
    """Returns how long a window lasts after its last event, in milliseconds; 0 if events do not determine its end."""
    match windows:
        case Sessions(gap_ms):
            return gap_ms
        case CountWindows():
            return 1
        case Periodic():
            return 0
        case _:
            assert_never(windows)
