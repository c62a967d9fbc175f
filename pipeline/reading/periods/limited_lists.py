"""Lists of the values of a dimension with a `top`: from windows that have only their largest values, and all others.

A value without a row in a window may be among all others there, with at most as many page views as the smallest value
that has a row. So its number is at least the sum of its rows, and a list is exact only if no value can be missing.
"""

from collections.abc import Sequence
from typing import Final

from tidemark.pipeline import columns as c
from tidemark.pipeline.reading.periods.period_sources import COUNTS
from tidemark.pipeline.reading.periods.store import Runs, Top
from tidemark.pipeline.tables.query import Row

# `hidden_most` of a window is the most page views that a value without a row may have in it.
_LISTED_SQL: Final = """
WITH cells AS (
  SELECT ended, key, is_other, CAST(sum(page_views) AS BIGINT) AS page_views, CAST(sum(clicks) AS BIGINT) AS clicks,
    max(others) AS others
  FROM ({rows}) AS parts GROUP BY ended, key, is_other
), limited AS (
  SELECT ended AS limited_end, sum(1 - is_other) + max(others) AS number,
    least(sum(CASE WHEN is_other = 1 THEN page_views ELSE 0 END), {least}) AS hidden_most
  FROM cells GROUP BY ended HAVING max(is_other) = 1
), by_key AS (
  SELECT key, sum(page_views) AS page_views, sum(clicks) AS clicks, count(limited_end) AS shown_in,
    (SELECT coalesce(sum(hidden_most), 0) FROM limited) - coalesce(sum(hidden_most), 0) AS missing
  FROM cells LEFT JOIN limited ON ended = limited_end WHERE is_other = 0 GROUP BY key
), placed AS (
  SELECT *, row_number() OVER (ORDER BY page_views DESC, clicks DESC, key NULLS LAST) AS place FROM by_key
)
SELECT *, count(*) OVER () AS number,
  max(CASE WHEN place > {most} THEN page_views + missing ELSE 0 END) OVER () AS others_most,
  (SELECT count(*) FROM limited) AS limited_windows,
  (SELECT coalesce(sum(hidden_most), 0) FROM limited) AS hidden_most,
  (SELECT coalesce(max(number), 0) FROM limited) AS most_values,
  (SELECT CAST(sum(page_views) AS BIGINT) FROM cells) AS total_page_views,
  (SELECT CAST(sum(clicks) AS BIGINT) FROM cells) AS total_clicks
FROM placed ORDER BY place LIMIT {most}
"""


def is_limited(runs: Runs, key: str) -> bool:
    """Returns whether windows of some runs have only the largest values of a key."""
    return any(dimension.name == key for run in runs for dimension in run.level.report.limited)


def limited_columns(key: str) -> Sequence[str]:
    """Returns the columns that `listed_sql` needs of the rows of a report with a `top` for the key."""
    flag = f"CASE WHEN {key}_others > 0 THEN 1 ELSE 0 END AS is_other"
    return (f"CAST({key} AS VARCHAR) AS key", *COUNTS, f"{key}_others AS others", flag, f"{c.WINDOW_END} AS ended")


def listed_sql(rows: str, most: int, *, is_filtered: bool) -> str:
    """Returns SQL of the `most` largest values in `rows`, SQL of `limited_columns`.

    `is_filtered`: only some rows of each window, so that the smallest of them says nothing of all others.
    """
    least = "9223372036854775807" if is_filtered else "min(CASE WHEN is_other = 0 THEN page_views END)"
    return _LISTED_SQL.format(rows=rows, most=most, least=least)


def listed(rows: Sequence[Row], most: int) -> Top:
    """Returns the list in the rows of `listed_sql`."""
    if not rows:
        return Top([], dict.fromkeys(COUNTS, 0), 0)
    first = rows[0]
    is_exact = all(row["shown_in"] == first["limited_windows"] for row in rows)
    beyond = max(first["hidden_most"], first["others_most"]) if first["limited_windows"] else -1
    is_complete = beyond < 0 or (len(rows) == most and rows[-1][c.PAGE_VIEWS] > beyond)
    return Top(
        [(row["key"], {name: int(row[name]) for name in COUNTS}) for row in rows],
        {name: int(first[f"total_{name}"]) for name in COUNTS},
        max(int(first["number"]), int(first["most_values"])),
        is_about=not (is_exact and is_complete),
    )
