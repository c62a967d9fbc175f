"""Different values of fields: about as many as in the sketches of panes and corrections, in windows of every kind."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, assert_never

from tidemark.pipeline.event_time.field_measures import Function
from tidemark.pipeline.event_time.windows.count import Counts, SlidingCounts
from tidemark.pipeline.event_time.windows.periodic import Periodic
from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.verifier.count_windows import with_full_windows
from tidemark.pipeline.verifier.distinct_users import ROUNDING, union
from tidemark.pipeline.verifier.measured_fields import StoredPart, stored_parts
from tidemark.pipeline.verifier.periodic_sums import with_sums
from tidemark.pipeline.verifier.published_results import PublishedReport
from tidemark.pipeline.verifier.session_sums import uncorrected_sessions
from tidemark.pipeline.verifier.verification import Finding, Row
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

# Each statement has lists of published values and of sketches; of rows that may occur several times, lists of lists.
_OF_TIME_SQL: Final = """
{with_sums} SELECT {cell}, array_agg(actual) AS actual, array_agg(sketch) AS expected FROM (
  SELECT {cell}, {name} AS actual, NULL AS sketch FROM {table} JOIN windows ON start_ms = a AND end_ms = b
  WHERE has_panes = 1 AND {is_whole}
  UNION ALL
  SELECT {cell}, NULL, {column} FROM placed
  WHERE pane_start >= start_ms AND end_ms <= {watermark} AND {is_whole}
  UNION ALL
  SELECT {cell}, NULL, {column} FROM added
) AS both GROUP BY {cell} HAVING count(actual) > 0 AND count(sketch) > 0
"""
_OF_ROWS_SQL: Final = """
{with_rows}, of_panes AS (
  SELECT {cell}, array_agg({column}) AS expected FROM ({rows}) AS rows GROUP BY {cell}
), of_table AS (
  SELECT {cell}, array_agg({name}) AS actual FROM {table} GROUP BY {cell}
)
SELECT {of_panes}, actual, expected FROM of_panes JOIN of_table ON {same}
"""


def check(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    """Compares each row that has its panes; other checks report rows that are missing."""
    check_sketches(tables, result, finding, Function.UNIQUE, (_differing, _difference))


def check_sketches(
    tables: WarehouseSnapshot,
    result: PublishedReport,
    finding: Finding,
    function: Function,
    compared: tuple[Callable[[Row], list[int] | None], Callable[[PublishedReport, str, Row], str]],
) -> None:
    """Compares what is published of the sketches of a function with panes and corrections, where rows have panes.

    `compared` are a function that returns None for a row of `actual` and `expected` (see `windows_of`) without a
    difference, and one that returns the sentence on a difference, given the name of the measure.
    """
    differing, difference = compared
    for part in stored_parts(result.report):
        if part.function is function:
            _, rows = tables.compare(_values_sql(tables, result, part), differing)
            finding.report_rows(rows, partial(difference, result, part.measure))


def windows_of(row: Row) -> list[list[bytes]]:
    """Returns the sketches of each window in `expected`, which has lists of them if equal rows are possible."""
    sketches = [each for each in row["expected"] if each is not None]
    return sketches if isinstance(sketches[0], list) else [sketches]


def _values_sql(tables: WarehouseSnapshot, result: PublishedReport, part: StoredPart) -> str:
    """Returns SQL of rows with `actual`, a list of published values, and `expected`, a list of sketches or of lists."""
    named = {"name": part.published, "column": part.column, "table": result.table}
    match result.report.windows:
        case Periodic():
            cell = ", ".join(result.cell)
            bounds = {"watermark": result.watermark, "is_whole": result.is_whole_sql}
            return _OF_TIME_SQL.format(**named, **bounds, with_sums=with_sums(tables, result), cell=cell)
        case Sessions() as sessions:
            with_rows, rows = uncorrected_sessions(tables, result, sessions)
            return _of_rows_sql(result.cell, with_rows, rows, named)
        case Counts() | SlidingCounts() as counts:
            columns = (*result.cell, *result.counts, "published_batch")
            return _of_rows_sql(columns, with_full_windows(result, counts), "SELECT * FROM windows", named)
        case _:
            assert_never(result.report.windows)


def _of_rows_sql(cell: tuple[str, ...], with_rows: str, rows: str, named: dict[str, str]) -> str:
    return _OF_ROWS_SQL.format(
        **named,
        with_rows=with_rows,
        rows=rows,
        cell=", ".join(cell),
        of_panes=", ".join(f"of_panes.{name}" for name in cell),
        same=" AND ".join(f"(of_panes.{name} IS NOT DISTINCT FROM of_table.{name})" for name in cell),
    )


def _difference(result: PublishedReport, name: str, row: Row) -> str:
    actual, expected = _text_of(_numbers(row)), _text_of(row["expected"])
    return f"{result.place_of(row)} shows {actual} {name}, but its panes and corrections have {expected}"


def _differing(row: Row) -> list[int] | None:
    """Returns the numbers of values of a row's panes, None if there is a published number near each of them."""
    expected = sorted(map(union, windows_of(row)))
    left = iter(_numbers(row))
    is_near = all(any(abs(found - number) <= number // ROUNDING for found in left) for number in expected)
    return None if is_near else expected


def _numbers(row: Row) -> list[int]:
    return sorted(number for number in row["actual"] if number is not None)


def _text_of(numbers: Iterable[int]) -> str:
    return " and ".join(map(str, numbers))
