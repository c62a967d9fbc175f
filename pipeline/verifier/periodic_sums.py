"""Windows whose ends the clock tells: what their panes add up to, from the definitions."""

from typing import Final

from pipeline import columns as c
from pipeline.verifier import queries
from pipeline.verifier.aligned_windows import aligned
from pipeline.verifier.published_results import Shown
from pipeline.verifier.verification import Finding
from pipeline.verifier.warehouse_snapshot import WarehouseSnapshot
from pipeline.verifier.wording import Row, moment

# Panes tell their windows. Each is looked at for its own, and where sessions are counted for those after it, too.
_CALENDAR: Final = """
places AS (
  SELECT pane, start_ms, end_ms FROM spots
  JOIN (SELECT DISTINCT window_start_ms AS start_ms, window_end_ms AS end_ms FROM parts) AS known
    ON pane >= start_ms - {gap} AND pane < end_ms
)
"""
_BEGIN: Final = """
WITH parts AS ({parts}), spots AS (SELECT DISTINCT pane_start AS pane FROM parts), {places}, counted AS (
  SELECT parts.*, start_ms, end_ms FROM parts JOIN places ON pane_start = pane AND closed < end_ms
), placed AS ({begun}), due AS (
  SELECT start_ms, end_ms, {keys} CAST(sum(page_views) AS BIGINT) AS page_views, CAST(sum(clicks) AS BIGINT) AS clicks,
    CAST(sum(CASE WHEN watermark >= end_ms THEN page_views + clicks ELSE 0 END) AS BIGINT) AS late_events,
    CAST(sum(begun) AS BIGINT) AS sessions_begun
  FROM placed WHERE pane_start >= start_ms AND end_ms <= {watermark} AND end_ms > {removed}
  GROUP BY {keys} start_ms, end_ms
), added AS ({added}), windows AS (
  SELECT start_ms AS a, end_ms AS b, max(has) AS has_panes FROM (
    SELECT start_ms, end_ms, 1 AS has FROM due UNION ALL SELECT start_ms, end_ms, 0 FROM added
  ) AS known GROUP BY start_ms, end_ms
)
"""
# A session of a user starts with an event when no session of the user is open in the window.
_BEGUN_SQL: Final = "SELECT *, CASE WHEN open = 1 THEN 1 ELSE 0 END AS begun FROM ({swept}) AS swept WHERE step = 1"


def begin(tables: WarehouseSnapshot, shown: Shown, *, published: bool = True) -> str:
    """`WITH …`: what panes and corrections say, as far as the report is published, or all of it.

    `placed` has each row of panes once for each of its windows in which it counts; `due` the rows that they add up to,
    of windows that have fired and were not removed by age; `added` the corrections; `windows` those to compare, from
    `a` to `b`, and whether they have panes or were corrected only.
    """
    it, keys, gap = aligned(shown.report.windows), queries.columns(shown.report.keys), shown.report.session_gap_ms
    by, ties = ("end_ms", c.USER_ID), f", {keys}last_time"
    swept = queries.sweep_sql("counted", by, "first_time", f"last_time + {gap}", ties)
    return _BEGIN.format(
        parts=queries.parts(shown, published=published),
        places=it.places(gap) if it else _CALENDAR.format(gap=gap),
        begun=_BEGUN_SQL.format(swept=swept) if gap else "SELECT counted.*, 0 AS begun FROM counted",
        keys=keys,
        watermark=shown.watermark,
        removed=shown.removed,
        added=queries.corrections(tables, shown),
    )


def is_whole(shown: Shown) -> str:
    """SQL: of which windows no pane can be gone: those that may still change."""
    return f"end_ms > {shown.swept}"


def check(tables: WarehouseSnapshot, shown: Shown, finding: Finding) -> None:
    """Cell by cell where panes are left; the others must have closed."""
    _compare(tables, shown, finding)
    _look_for_windows_without_panes(tables, shown, finding)
    _tell_what_waits(tables, shown, finding)


def _compare(tables: WarehouseSnapshot, shown: Shown, finding: Finding) -> None:
    numbers = [name for name in shown.numbers if name != c.SESSIONS_BEGUN]
    broken = (
        f"(has_panes = 1 AND {is_whole(shown)} AND (is_shown <> 1 OR {queries.differs(shown.numbers)})) "
        f"OR is_shown = 0 OR {queries.differs(numbers, '<')}"
    )
    cells = f"{begin(tables, shown)}, cells AS ({_sides(shown)})"
    rows = tables.ask(queries.examples(cells, broken, "start_ms, end_ms"))
    finding.among("cells of windows with panes", rows, lambda row: difference(shown, row))


def _sides(shown: Shown) -> str:
    columns = ", ".join((*shown.cell, *shown.numbers))
    # Corrections tell of no sessions.
    added = columns.replace(c.SESSIONS_BEGUN, f"0 AS {c.SESSIONS_BEGUN}")
    here = "JOIN windows ON start_ms = a AND end_ms = b"
    rows = f"SELECT * FROM ({queries.rows(shown)}) AS result {here}"
    both = f"SELECT {columns} FROM due UNION ALL SELECT {added} FROM added"
    due = f"SELECT has_panes, it.* FROM ({both}) AS it {here}"
    return queries.side_by_side(("has_panes", *shown.cell), shown.numbers, rows, due)


def difference(shown: Shown, row: Row) -> str:
    """The sentence on a cell whose two sides differ."""
    where, numbers = shown.at(row), shown.numbers
    told = ", ".join(f"{row[f'due_{one}']} {one}" for one in numbers)
    if not row["is_shown"]:
        return f"{where} is not shown, but its panes and corrections have {told}"
    if not row["is_due"]:
        told = ", ".join(f"{row[f'shown_{one}']} {one}" for one in numbers)
        return f"{where} shows {told}, but its panes and corrections have 0 of it"
    different = [one for one in numbers if row[f"shown_{one}"] != row[f"due_{one}"]]
    return f"{where} shows " + " and ".join(
        f"{row[f'shown_{one}']} {one}, but its panes and corrections have {row[f'due_{one}']}" for one in different
    )


def _look_for_windows_without_panes(tables: WarehouseSnapshot, shown: Shown, finding: Finding) -> None:
    """Windows that have not closed may still change, so their panes must be there."""
    gone = (
        f"{begin(tables, shown)} SELECT start_ms, end_ms, count(*) AS rows FROM ({queries.rows(shown)}) AS result "
        "WHERE end_ms NOT IN (SELECT end_ms FROM placed WHERE pane_start >= start_ms) "
        f"AND end_ms <= {shown.highest} {{which}} GROUP BY start_ms, end_ms ORDER BY start_ms"
    )
    finding.look(len(tables.ask(gone.format(which=""))), "closed windows without panes")
    if not shown.is_kept:
        finding.tell(f"{shown.name} is no longer configured: what it had open is gone")
        return
    finding.each(
        tables.ask(gone.format(which=f"AND end_ms > {shown.closed}")),
        lambda row: (
            f"{shown.at(row)} shows {row['rows']} rows and has 0 panes, though only windows that end at "
            f"{moment(shown.closed)} or before have closed"
        ),
    )


def _tell_what_waits(tables: WarehouseSnapshot, shown: Shown, finding: Finding) -> None:
    now = f"SELECT max(watermark) FROM ledger WHERE batch = {tables.newest}"
    waiting = tables.number(
        f"{begin(tables, shown, published=False)} SELECT count(DISTINCT end_ms) FROM placed "
        f"WHERE pane_start >= start_ms AND end_ms <= ({now}) "
        f"AND (end_ms > {shown.watermark} OR batch > {shown.published})"
    )
    if waiting:
        finding.tell(f"{shown.name}: {waiting:,} windows that have fired or changed are not published yet")
