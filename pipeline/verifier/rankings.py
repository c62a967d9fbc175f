"""Dimensions with a `top`: a window that has its panes shows the largest values, and how many others it has."""

from functools import partial
from typing import Final

from tidemark.command_line.counts import counted
from tidemark.pipeline.event_time.dimensions import Dimension
from tidemark.pipeline.verifier.other_values import ranking_count
from tidemark.pipeline.verifier.periodic_sums import with_sums
from tidemark.pipeline.verifier.published_results import PublishedReport
from tidemark.pipeline.verifier.queries import columns
from tidemark.pipeline.verifier.verification import Finding, Row
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_WHOLE_SQL: Final = "pane_start >= start_ms AND end_ms <= {watermark} AND end_ms > {removed} AND {is_whole}"
_RANKED_SQL: Final = """
{with_sums}, _counts AS (
  SELECT start_ms, end_ms, {each} AS _value, max({flag}) AS _is_other, CAST(sum({count}) AS BIGINT) AS _count_of_value
  FROM placed WHERE {whole} GROUP BY start_ms, end_ms, {each}
), _ranked AS (
  SELECT *, rank() OVER (PARTITION BY start_ms, end_ms ORDER BY _count_of_value DESC, _value NULLS LAST) AS _place
  FROM _counts
)
SELECT * FROM _ranked WHERE (_is_other = 1) <> (_place > {top}) ORDER BY start_ms, end_ms, _place
"""
_NUMBERS_SQL: Final = """
{with_sums} SELECT * FROM (
  SELECT {cell}, max(actual) AS actual, count(DISTINCT _value) + max(_is_null) AS expected FROM (
    SELECT {uncommented}{name}_others AS actual, CAST(NULL AS {type}) AS _value, 0 AS _is_null
    FROM {table} JOIN windows ON start_ms = a AND end_ms = b WHERE {flag} = 1 AND has_panes = 1 AND {is_whole}
    UNION ALL
    SELECT {uncommented}NULL, {each}, CASE WHEN {each} IS NULL THEN 1 ELSE 0 END FROM placed
    WHERE {flag} = 1 AND {whole}
  ) AS both GROUP BY {cell}
) AS _numbers WHERE actual IS DISTINCT FROM expected ORDER BY start_ms, end_ms
"""


def check(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    """Ranks the values in the panes of each window that has lost no panes, and counts the values that have no row."""
    for dimension in result.report.limited:
        ranked, numbers = (_sql(text, tables, result, dimension) for text in (_RANKED_SQL, _NUMBERS_SQL))
        finding.report_rows(tables.ask(ranked), partial(_misplaced, result, dimension))
        finding.report_rows(tables.ask(numbers), partial(_other_number, result))


def _sql(text: str, tables: WarehouseSnapshot, result: PublishedReport, dimension: Dimension) -> str:
    count, is_whole = ranking_count(result.report), result.is_whole_sql
    return text.format(
        with_sums=with_sums(tables, result),
        name=dimension.name,
        each=result.each(dimension.name),
        flag=result.flags[dimension.name],
        type=dimension.type.sql,
        top=dimension.top,
        count="event_count" if count == "events" else count,
        cell=", ".join(result.cell),
        # DataFusion compares the comments of columns between the branches of a union.
        uncommented=columns([f"nullif({name}, NULL) AS {name}" for name in result.cell]),
        table=result.table,
        is_whole=is_whole,
        whole=_WHOLE_SQL.format(watermark=result.watermark, removed=result.removed, is_whole=is_whole),
    )


def _misplaced(result: PublishedReport, dimension: Dimension, row: Row) -> str:
    """Returns the sentence on a value with a row although others are larger, or without one although it is large."""
    count = ranking_count(result.report)
    found = "is among all others" if row["_is_other"] else "has a row"
    return (
        f"{result.place_of(row)}: {dimension.name} {row['_value']!r} {found}, but its {row['_count_of_value']} {count} "
        f"in panes are number {row['_place']}, and the top is {dimension.top}"
    )


def _other_number(result: PublishedReport, row: Row) -> str:
    """Returns the sentence on a row of all others that is of another number of values."""
    return (
        f"{result.place_of(row)} is of {counted(row['actual'] or 0, 'value')}, but its panes have {row['expected']} "
        f"without a row"
    )
