"""Dimensions with a `top`: which row of the table has a value, and which rows a window may have of them."""

from functools import partial
from typing import Final

from tidemark.command_line.counts import counted
from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.dimensions import Dimension
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.verifier.published_results import PublishedReport
from tidemark.pipeline.verifier.verification import Finding, Row
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

# By the table, whether it is right or not: so that panes of which compaction removed a part can be compared, too.
_ROW_OF_VALUE_SQL: Final = """
LEFT JOIN (SELECT start_ms AS _start, end_ms AS _end, {name} AS _value, 1 AS _has FROM {table} WHERE {flag} = 0
  GROUP BY start_ms, end_ms, {name}) AS {alias}
ON _placed.start_ms = {alias}._start AND _placed.end_ms = {alias}._end AND ({each} IS NULL) = ({alias}._value IS NULL)
  AND coalesce(CAST({each} AS STRING), '') = coalesce(CAST({alias}._value AS STRING), '')"""
_WINDOWS_SQL: Final = """
SELECT * FROM (SELECT start_ms, end_ms, sum({flag}) AS _other_rows,
  sum(CASE WHEN {name}_others IS NULL OR {name}_others < 0 OR ({flag} = 1 AND {name} IS NOT NULL) THEN 1 ELSE 0 END)
    AS _unfit,
  count(DISTINCT CASE WHEN {flag} = 0 THEN {name} END) + max(CASE WHEN {flag} = 0 AND {name} IS NULL THEN 1 ELSE 0 END)
    AS _shown_values
FROM {table} GROUP BY start_ms, end_ms) AS _counts
WHERE _unfit > 0 OR _shown_values > {top} OR (_other_rows > 0 AND _shown_values < {top}) ORDER BY start_ms, end_ms
"""
# At least one of all others has as many events as they have on average.
_LEAST_SQL: Final = """
SELECT _least.*, _others._count_of_others, _others._number_of_others FROM (
  SELECT start_ms, end_ms, min(_count_of_value) AS _least_shown FROM (
    SELECT start_ms, end_ms, {name}, sum({count}) AS _count_of_value FROM {table} WHERE {flag} = 0
    GROUP BY start_ms, end_ms, {name}
  ) AS _counts GROUP BY start_ms, end_ms
) AS _least JOIN (
  SELECT start_ms AS _start, end_ms AS _end, sum({count}) AS _count_of_others, sum({name}_others) AS _number_of_others
  FROM {table} WHERE {flag} = 1 GROUP BY start_ms, end_ms
) AS _others ON start_ms = _start AND end_ms = _end
WHERE _count_of_others > _least_shown * _number_of_others ORDER BY start_ms, end_ms
"""


def in_rows_sql(result: PublishedReport, placed: str) -> str:
    """SQL: the rows of panes `placed` in windows, with the keys of the rows of the table that have their values."""
    if not result.flags:
        return placed
    columns, joins = list[str](), list[str]()
    for number, (name, flag) in enumerate(result.flags.items()):
        alias, each = f"_shown_{number}", result.each(name)
        columns += [
            f"CASE WHEN {alias}._has = 1 THEN {each} END AS {name}",
            f"CASE WHEN {alias}._has = 1 THEN 0 ELSE 1 END AS {flag}",
        ]
        joins.append(_ROW_OF_VALUE_SQL.format(name=name, table=result.table, flag=flag, alias=alias, each=each))
    return f"SELECT _placed.*, {', '.join(columns)} FROM ({placed}) AS _placed {''.join(joins)}"


def uncut_sql(result: PublishedReport, rows: str) -> str:
    """SQL: the rows of panes or corrections `rows`, each with its own value."""
    columns = "".join(f", {result.each(name)} AS {name}, 0 AS {flag}" for name, flag in result.flags.items())
    return f"SELECT _rows.*{columns} FROM ({rows}) AS _rows" if columns else rows


def ranking_count(report: Report) -> str:
    """Returns the count that ranks values: the first of visits, clicks and events that the report has."""
    measures = [name for name in (c.PAGE_VIEWS, c.CLICKS) if name in report.measures]
    return measures[0] if measures else c.EVENTS


def check_fit(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    """Checks that a window has at most `top` values, all others only in addition, and no larger value among them."""
    for dimension in result.report.limited:
        count, named = ranking_count(result.report), {"name": dimension.name, "table": result.table}
        windows = _WINDOWS_SQL.format(**named, flag=result.flags[dimension.name], top=dimension.top)
        finding.report_rows(tables.ask(windows), partial(_unfit, result, dimension))
        if count in result.report.measures:
            least = _LEAST_SQL.format(**named, flag=result.flags[dimension.name], count=count)
            finding.report_rows(tables.ask(least), partial(_larger, result, dimension))


def _unfit(result: PublishedReport, dimension: Dimension, row: Row) -> str:
    """Returns the sentence on a window whose rows do not fit a `top`."""
    return (
        f"{result.place_of(row)} shows {counted(row['_shown_values'], 'value')} of {dimension.name}, and "
        f"{counted(row['_other_rows'], 'row')} of all others, which does not fit a top of {dimension.top}"
    )


def _larger(result: PublishedReport, dimension: Dimension, row: Row) -> str:
    """Returns the sentence on a window in which a value without a row has more events than one with a row."""
    count, others = ranking_count(result.report), counted(row["_number_of_others"], "value")
    return (
        f"{result.place_of(row)} shows {row['_count_of_others']} {count} of {others} of "
        f"{dimension.name} in all others, of which one has more than the {row['_least_shown']} of a row"
    )
