"""Grid, cumulating and calendar windows: the sums of their panes, by the definitions."""

from typing import Final

from tidemark.command_line.counts import counted
from tidemark.pipeline import columns as c
from tidemark.pipeline.verifier import other_values, queries
from tidemark.pipeline.verifier.aligned_windows import aligned
from tidemark.pipeline.verifier.published_results import PublishedReport
from tidemark.pipeline.verifier.verification import Finding, time_text
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

# Panes of calendar windows store the window. Where sessions are counted, a pane is also compared with later windows.
_CALENDAR_SQL: Final = """
windows_of_panes AS (
  SELECT pane, start_ms, end_ms FROM distinct_panes
  JOIN (SELECT DISTINCT window_start_ms AS start_ms, window_end_ms AS end_ms FROM parts) AS stored
    ON pane >= start_ms - {gap} AND pane < end_ms
)
"""
_SUMS_SQL: Final = """
WITH parts AS ({parts}), distinct_panes AS (SELECT DISTINCT pane_start AS pane FROM parts), {windows_of_panes},
counted AS (
  SELECT parts.*, start_ms, end_ms FROM parts JOIN windows_of_panes ON pane_start = pane AND closed < end_ms
), placed AS ({placed}), expected AS (
  SELECT start_ms, end_ms, {keys} CAST(sum(page_views) AS BIGINT) AS page_views, CAST(sum(clicks) AS BIGINT) AS clicks,
    CAST(sum(event_count) AS BIGINT) AS events,
    CAST(sum(CASE WHEN watermark >= end_ms THEN event_count ELSE 0 END) AS BIGINT) AS late_events,
    CAST(sum(begun) AS BIGINT) AS sessions_begun
  FROM placed WHERE pane_start >= start_ms AND end_ms <= {watermark} AND end_ms > {removed}
  GROUP BY {keys} start_ms, end_ms
), added AS ({added}), windows AS (
  SELECT start_ms AS a, end_ms AS b, max(has) AS has_panes FROM (
    SELECT start_ms, end_ms, 1 AS has FROM expected UNION ALL SELECT start_ms, end_ms, 0 FROM added
  ) AS both GROUP BY start_ms, end_ms
)
"""
# A session of a user starts with an event when no session of the user is open in the window.
_BEGUN_SQL: Final = "SELECT *, CASE WHEN open = 1 THEN 1 ELSE 0 END AS begun FROM ({swept}) AS swept WHERE step = 1"


def with_sums(tables: WarehouseSnapshot, result: PublishedReport, *, published: bool = True) -> str:
    """SQL `WITH placed, expected, added, windows`: panes and corrections up to the published batch, or all of them.

    `placed` has each row of panes once for each window in which it counts; `expected` has their sums, of windows that
    have fired and were not removed by age; `added` the corrections; `windows` the windows to compare, from `a` to `b`,
    and whether they have panes or only corrections.
    """
    gap, arithmetic = result.report.session_gap_ms, aligned(result.report.windows)
    by, ties = ("end_ms", c.USER_ID), f", {queries.columns([*map(result.each, result.report.keys)])}last_time"
    swept = queries.sweep_sql("counted", by, "first_time", f"last_time + {gap}", ties)
    return _SUMS_SQL.format(
        parts=queries.panes_sql(result, published=published),
        windows_of_panes=arithmetic.windows_of_panes_sql(gap) if arithmetic else _CALENDAR_SQL.format(gap=gap),
        placed=other_values.in_rows_sql(
            result, _BEGUN_SQL.format(swept=swept) if gap else "SELECT counted.*, 0 AS begun FROM counted"
        ),
        keys=queries.columns(result.cell[2:]),
        watermark=result.watermark,
        removed=result.removed,
        added=other_values.uncut_sql(result, queries.corrections_sql(tables, result)),
    )


def check(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    """Compares each cell of windows that have panes; only closed windows may lack them."""
    sums = [name for name in result.sums if name != c.SESSIONS_BEGUN]
    violation = (
        f"(has_panes = 1 AND {result.is_whole_sql} AND (actual_rows <> 1 OR {queries.differs_sql(result.sums)})) "
        f"OR actual_rows = 0 OR {queries.differs_sql(sums, '<')}"
    )
    cells = f"{with_sums(tables, result)}, cells AS ({_compared_sql(result)})"
    queries.check_cells(tables, finding, "window cell", cells, violation, result.difference)
    _check_without_panes(tables, result, finding)
    fired = (
        f"{with_sums(tables, result, published=False)} SELECT count(DISTINCT end_ms) FROM placed "
        f"WHERE pane_start >= start_ms AND end_ms <= (SELECT max(watermark) FROM ledger WHERE batch = {tables.newest}) "
        f"AND (end_ms > {result.watermark} OR batch > {result.batch})"
    )
    finding.note_unpublished(result.name, tables.scalar(fired), "window", " that fired or changed")


def _compared_sql(result: PublishedReport) -> str:
    columns = ", ".join((*result.cell, *result.sums))
    added = ", ".join((*result.cell, *(f"{queries.correction_column(name)} AS {name}" for name in result.sums)))
    in_windows = "JOIN windows ON start_ms = a AND end_ms = b"
    actual = f"SELECT * FROM {result.table} {in_windows}"
    sums = f"SELECT {columns} FROM expected UNION ALL SELECT {added} FROM added"
    expected = f"SELECT has_panes, sums.* FROM ({sums}) AS sums {in_windows}"
    return queries.compared_sql(("has_panes", *result.cell), result.sums, actual, expected)


def _check_without_panes(tables: WarehouseSnapshot, result: PublishedReport, finding: Finding) -> None:
    """Checks that each window without panes has closed: compaction keeps the panes of all others."""
    if not result.is_configured:
        finding.note(f"{result.name} is no longer configured: its open windows are gone")
    cells = (
        f"{with_sums(tables, result)}, cells AS (SELECT start_ms, end_ms, count(*) AS rows FROM {result.table} "
        "WHERE end_ms NOT IN (SELECT DISTINCT end_ms FROM placed WHERE pane_start >= start_ms) "
        f"AND end_ms <= {result.highest} GROUP BY start_ms, end_ms)"
    )
    queries.check_cells(
        tables,
        finding,
        "compacted window",
        cells,
        f"end_ms > {result.closed}" if result.is_configured else "false",
        lambda row: (
            f"{result.place_of(row)} shows {counted(row['rows'], 'row')} and has 0 panes, though only windows that end "
            f"at {time_text(result.closed)} or before have closed"
        ),
    )
