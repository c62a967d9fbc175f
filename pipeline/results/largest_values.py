"""The largest values of dimensions with a `top`, and one row for all others: keys of the rows of a window, in SQL.

Panes have every value, so the values of a window are ranked when it is published, and again when it is published again.
"""

from typing import Final, NamedTuple

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.dimensions import Dimension
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.measures import EVENTS_SQL

# No column of a report starts with _. Engines differ in where nulls are sorted.
_LARGEST_SQL: Final = """, {table} AS (
  SELECT _end, _value FROM (
    SELECT window_end AS _end, {name} AS _value,
      row_number() OVER (PARTITION BY window_end ORDER BY _count DESC, {name} NULLS LAST) AS _rank
    FROM (
      SELECT window_end, {name}, sum({count}) AS _count FROM placed WHERE pane_start >= window_start
      GROUP BY window_end, {name}
    ) AS _counts
  ) AS _ranks WHERE _rank <= {top}
)"""
# Equality of each pair of expressions, because only for this DataFusion hashes: a value may be null on both sides.
# The smaller table is on the left, because DataFusion has all rows of the left table in memory.
_JOIN_SQL: Final = """{table} RIGHT JOIN {rows}
  ON window_end = {table}._end AND ({name} IS NULL) = ({table}._value IS NULL)
  AND coalesce(CAST({name} AS STRING), '') = coalesce(CAST({table}._value AS STRING), '')"""
_OTHERS_SQL: Final = """
count(DISTINCT CASE WHEN {is_other} THEN {name} END) + max(CASE WHEN {is_other} AND {name} IS NULL THEN 1 ELSE 0 END)
"""


class RowKeysSql(NamedTuple):
    """Parts of the SQL that adds up the rows `placed` of windows to the rows of a table."""

    keys: str
    """The columns that identify a row of a window; a comma follows each."""
    grouped: str
    """The expressions by which rows are grouped, in addition to the window; a comma follows each."""
    largest: str
    """Tables of the largest values, after a WITH; a comma precedes each."""
    rows: str
    """The rows `placed`, joined to these tables."""


def row_keys_sql(report: Report, placed: str) -> RowKeysSql:
    """Returns the SQL of a report's keys, of which those with a `top` have only their largest values."""
    rows = placed
    tables = {dimension.name: f"_largest_{number}" for number, dimension in enumerate(report.limited)}
    keys = {key: _value_sql(key, tables[key]) if key in tables else key for key in report.keys}
    others = (f"{_others_sql(each, tables[each.name])} AS {each.others}, " for each in report.limited)
    is_other = (f"CASE WHEN {_is_other_sql(table)} THEN 1 ELSE 0 END, " for table in tables.values())
    for name, table in tables.items():
        rows = f"({_JOIN_SQL.format(table=table, name=name, rows=rows)})"
    return RowKeysSql(
        keys="".join([*(f"{sql} AS {key}, " if key in tables else f"{key}, " for key, sql in keys.items()), *others]),
        grouped="".join([*(f"{sql}, " for sql in keys.values()), *is_other]),
        largest="".join(_largest_sql(report, each, tables[each.name]) for each in report.limited),
        rows=rows,
    )


def _largest_sql(report: Report, dimension: Dimension, table: str) -> str:
    count = EVENTS_SQL if report.ranked_by == c.EVENTS else report.ranked_by
    return _LARGEST_SQL.format(table=table, name=dimension.name, count=count, top=dimension.top)


def _value_sql(name: str, table: str) -> str:
    return f"CASE WHEN {_is_other_sql(table)} THEN NULL ELSE {name} END"


def _others_sql(dimension: Dimension, table: str) -> str:
    return _OTHERS_SQL.format(is_other=_is_other_sql(table), name=dimension.name).strip()


def _is_other_sql(table: str) -> str:
    return f"{table}._end IS NULL"
