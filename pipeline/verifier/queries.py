"""Parts of the queries over results and panes: which rows count, and how two sides are laid side by side."""

from collections.abc import Sequence
from typing import Final

from pipeline.event_time import rules
from pipeline.tables.schemas import CORRECTIONS
from pipeline.verifier.published_results import Result, Shown
from pipeline.verifier.verification import EXAMPLES_OF_EACH, Finding
from pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_SIDE_BY_SIDE: Final = """
SELECT {cell}, sum(is_shown) AS is_shown, sum(is_due) AS is_due, {sums} FROM (
  SELECT {cell}, 1 AS is_shown, 0 AS is_due, {shown_side} FROM ({shown}) AS shown
  UNION ALL
  SELECT {cell}, 0 AS is_shown, 1 AS is_due, {due_side} FROM ({due}) AS due
) AS sides GROUP BY {cell}
"""
# Each row of `rows` once at its start and once at its end, and how many of its group are `open` then: 1 at the start of
# the first of a run that touches or overlaps, 0 at the end of the last.
_SWEEP_SQL: Final = """
SELECT edges.*, CAST(sum(step) OVER (
  {by} ORDER BY edge_ms, step DESC{ties} ROWS UNBOUNDED PRECEDING
) AS BIGINT) AS open FROM (
  SELECT {rows}.*, {start_ms} AS edge_ms, 1 AS step FROM {rows}
  UNION ALL SELECT {rows}.*, {end_ms} AS edge_ms, -1 AS step FROM {rows}
) AS edges
"""
# Panes have all that is asked of corrections, but for their number and the time of the event. No batch is below 0; of
# WHERE false the optimizer makes a plan that the engine refuses.
_NO_CORRECTIONS: Final = "(SELECT 0 AS correction, pane_start AS event_time, * FROM panes WHERE batch < 0) AS nothing"


def committed(tables: WarehouseSnapshot, name: str, finding: Finding) -> int:
    """How many rows of a table are of batches that the ledger has; others are told."""
    void = tables.number(f"SELECT count(*) FROM {name} WHERE batch NOT IN (SELECT batch FROM ledger)")
    if void:
        finding.tell(f"{name}: {void:,} rows of batches that the ledger does not have are void")
    return tables.number(f"SELECT count(*) FROM {name}") - void


def twice(rows: str, columns: Sequence[str], more: str = "") -> str:
    """What is there more than once, how often it was `found`, and perhaps more of it."""
    it = ", ".join(columns)
    return f"SELECT {it}, count(*) AS found{more} FROM {rows} GROUP BY {it} HAVING count(*) > 1 ORDER BY {it}"


def parts(shown: Result, *, published: bool = True) -> str:
    """The committed rows of a result's panes, as far as it is published, or all of them."""
    until = f"AND batch <= {shown.published}" if published else ""
    return (
        f"SELECT panes.*, coalesce(closed_until, {rules.NO_WATERMARK}) AS closed FROM panes "
        f"WHERE report = '{shown.name}' AND batch IN (SELECT batch FROM ledger) {until}"
    )


def rows(shown: Shown) -> str:
    """The rows of a result, their windows in milliseconds."""
    times = "CAST(window_start AS BIGINT) / 1000 AS start_ms, CAST(window_end AS BIGINT) / 1000 AS end_ms"
    return f"SELECT {times}, * FROM {shown.table}"


def sweep_sql(rows: str, by: Sequence[str], start_ms: str, end_ms: str, ties: str = "") -> str:
    """Returns SQL that sweeps over the intervals of a table of `rows`, group by group, and counts those that are open.

    `by` are the columns of a group; `ties` orders intervals that start together. Every row comes twice: with `step` 1
    when it opens and -1 when it ends; `open` is the count after this step.
    """
    return _SWEEP_SQL.format(rows=rows, by=partition_by(by), start_ms=start_ms, end_ms=end_ms, ties=ties)


def partition_by(names: Sequence[str]) -> str:
    """Returns the clause that makes a window function start again for each value of these columns."""
    return f"PARTITION BY {', '.join(names)}" if names else ""


def decided(tables: WarehouseSnapshot) -> str:
    """The table `corrections`, or an empty one where there is none yet."""
    return CORRECTIONS.name if CORRECTIONS.name in tables.handles else _NO_CORRECTIONS


def corrections(tables: WarehouseSnapshot, shown: Shown) -> str:
    """The corrections that a report's table has."""
    return (
        f"SELECT window_start_ms AS start_ms, window_end_ms AS end_ms, * FROM {decided(tables)} "
        f"WHERE report = '{shown.name}' AND correction <= {shown.corrected} AND window_end_ms > {shown.removed}"
    )


def side_by_side(cell: Sequence[str], numbers: Sequence[str], shown: str, due: str) -> str:
    """Each cell once, with `is_shown` and `is_due` rows, and of each number what is shown and what is due.

    By adding both up, and not by joining, because keys may be null.
    """
    return _SIDE_BY_SIDE.format(
        cell=", ".join(cell),
        sums=", ".join(f"sum(shown_{name}) AS shown_{name}, sum(due_{name}) AS due_{name}" for name in numbers),
        shown_side=", ".join(f"{name} AS shown_{name}, 0 AS due_{name}" for name in numbers),
        due_side=", ".join(f"0 AS shown_{name}, {name} AS due_{name}" for name in numbers),
        shown=shown,
        due=due,
    )


def differs(numbers: Sequence[str], how: str = "<>") -> str:
    """That some number shown is another than (or `how` it must not be to) what is due."""
    return "(" + " OR ".join(f"shown_{name} {how} due_{name}" for name in numbers) + ")"


def examples(begin: str, broken: str, order: str) -> str:
    """The first few of `cells`, broken ones before others, with how many were `looked` at and how many are `wrong`."""
    return (
        f"{begin} SELECT *, count(*) OVER () AS looked, sum(CASE WHEN {broken} THEN 1 ELSE 0 END) OVER () AS wrong "
        f"FROM cells ORDER BY CASE WHEN {broken} THEN 0 ELSE 1 END, {order} LIMIT {EXAMPLES_OF_EACH}"
    )


def columns(names: Sequence[str]) -> str:
    """Names in front of further ones."""
    return "".join(f"{name}, " for name in names)
