"""SQL over results and panes: which rows count, intervals that overlap, and actual next to expected numbers."""

from collections.abc import Callable, Sequence
from typing import Final

from tidemark.command_line.counts import counted
from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.tables.schemas import CORRECTIONS
from tidemark.pipeline.verifier.published_results import PublishedReport, PublishedResult
from tidemark.pipeline.verifier.verification import EXAMPLES_OF_EACH, Finding, Row
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

_COMPARED_SQL: Final = """
SELECT {cell}, sum(actual_rows) AS actual_rows, sum(expected_rows) AS expected_rows, {sums} FROM (
  SELECT {uncommented}, 1 AS actual_rows, 0 AS expected_rows, {of_actual} FROM ({actual}) AS actual
  UNION ALL
  SELECT {uncommented}, 0 AS actual_rows, 1 AS expected_rows, {of_expected} FROM ({expected}) AS expected
) AS both GROUP BY {cell}
"""
# `open` is 1 at the start of the first interval of a run and 0 at the end of the last. Intervals that touch are a run.
_SWEEP_SQL: Final = """
SELECT edges.*, CAST(sum(step) OVER (
  {by} ORDER BY edge_ms, step DESC{ties} ROWS UNBOUNDED PRECEDING
) AS BIGINT) AS open FROM (
  SELECT {rows}.*, {start_ms} AS edge_ms, 1 AS step FROM {rows}
  UNION ALL SELECT {rows}.*, {end_ms} AS edge_ms, -1 AS step FROM {rows}
) AS edges
"""
# Stand-in for a missing `corrections` table: the columns that are used, no rows. `batch < 0`, because the engine
# rejects the plan for `WHERE false`.
_NO_CORRECTIONS_SQL: Final = "(SELECT 0 AS correction, pane_start AS event_time, * FROM panes WHERE batch < 0) AS empty"


def committed(tables: WarehouseSnapshot, name: str, finding: Finding) -> int:
    """Returns the number of a table's rows whose batch the ledger has. Other rows become a note."""
    uncommitted = tables.scalar(f"SELECT count(*) FROM {name} WHERE batch NOT IN (SELECT batch FROM ledger)")
    if uncommitted:
        finding.note(f"{name}: uncommitted: {counted(uncommitted, 'row')} of batches that the ledger does not have")
    return tables.scalar(f"SELECT count(*) FROM {name}") - uncommitted


def repeated_sql(rows: str, columns: Sequence[str], aggregates: str = "") -> str:
    """SQL: each value of these columns that occurs more than once, and its count `found`.

    `aggregates` are further columns, each after a comma.
    """
    key = ", ".join(columns)
    return f"SELECT {key}, count(*) AS found{aggregates} FROM {rows} GROUP BY {key} HAVING count(*) > 1 ORDER BY {key}"


def panes_sql(result: PublishedResult, *, published: bool = True) -> str:
    """SQL: the committed rows of a result's panes, up to the published batch or all of them, with `event_count`."""
    until = f"AND batch <= {result.batch}" if published else ""
    return (
        f"SELECT panes.*{result.typed_keys_sql}, coalesce(closed_until, {rules.NO_WATERMARK}) AS closed, "
        f"{result.pane_events_sql} AS event_count FROM panes "
        f"WHERE report = '{result.name}' AND batch IN (SELECT batch FROM ledger) {until}"
    )


def sweep_sql(rows: str, by: Sequence[str], start_ms: str, end_ms: str, ties: str = "") -> str:
    """SQL that sweeps over the intervals of a table `rows`, group by group, and counts those that are open.

    `by` are the columns of a group; `ties` orders intervals that start together. Every row occurs twice: with `step` 1
    when it opens and -1 when it ends; `open` is the count after this step.
    """
    return _SWEEP_SQL.format(rows=rows, by=partition_by(by), start_ms=start_ms, end_ms=end_ms, ties=ties)


def partition_by(names: Sequence[str]) -> str:
    """Returns the clause that makes a window function start again for each value of these columns."""
    return f"PARTITION BY {', '.join(names)}" if names else ""


def all_corrections_sql(tables: WarehouseSnapshot) -> str:
    """SQL: the table `corrections`, or an empty table if it does not exist yet."""
    return CORRECTIONS.name if CORRECTIONS.name in tables.handles else _NO_CORRECTIONS_SQL


def corrections_sql(tables: WarehouseSnapshot, result: PublishedReport) -> str:
    """SQL: the corrections that were added to a report's table, with `event_count`."""
    # The sum drops the comments, which DataFusion compares between the branches of a union.
    return (
        "SELECT window_start_ms + 0 AS start_ms, window_end_ms + 0 AS end_ms, 1 AS event_count, "
        f"*{result.typed_keys_sql} "
        f"FROM {all_corrections_sql(tables)} "
        f"WHERE report = '{result.name}' AND correction <= {result.corrected} AND window_end_ms > {result.removed}"
    )


def correction_column(name: str) -> str:
    """Returns the SQL of a sum over corrections, which have no number of sessions."""
    return {c.SESSIONS_BEGUN: "0", c.EVENTS: "event_count"}.get(name, name)


def compared_sql(cell: Sequence[str], sums: Sequence[str], actual: str, expected: str) -> str:
    """SQL: each cell once, with the number of its actual and expected rows, and the two values of each sum.

    `actual` and `expected` are queries. Both are added up and not joined, because keys may be null.
    """
    return _COMPARED_SQL.format(
        cell=", ".join(cell),
        # DataFusion compares the comments of columns between the branches of a union.
        uncommented=", ".join(f"nullif({name}, NULL) AS {name}" for name in cell),
        sums=", ".join(
            f"sum(actual_{name}) AS actual_{name}, sum(expected_{name}) AS expected_{name}" for name in sums
        ),
        of_actual=", ".join(f"{name} AS actual_{name}, 0 AS expected_{name}" for name in sums),
        of_expected=", ".join(f"0 AS actual_{name}, {name} AS expected_{name}" for name in sums),
        actual=actual,
        expected=expected,
    )


def differs_sql(sums: Sequence[str], operator: str = "<>") -> str:
    """SQL condition of a violation: `actual operator expected` holds for any of the sums."""
    return "(" + " OR ".join(f"actual_{name} {operator} expected_{name}" for name in sums) + ")"


def check_cells(
    tables: WarehouseSnapshot,
    finding: Finding,
    noun: str,
    with_cells: str,
    violation: str,
    sentence: Callable[[Row], str],
    order: str = "start_ms, end_ms",
) -> None:
    """Counts the rows of the CTE `cells`, and reports those for which the condition `violation` holds."""
    counts = f"SELECT count(*) AS checked, sum(CASE WHEN {violation} THEN 1 ELSE 0 END) AS wrong FROM cells"
    (count,) = tables.ask(f"{with_cells} {counts}").to_pylist()
    if count["checked"]:
        finding.count(count["checked"], noun)
    if count["wrong"]:
        examples = f"SELECT * FROM cells WHERE {violation} ORDER BY {order} LIMIT {EXAMPLES_OF_EACH}"
        finding.report_rows(tables.ask(f"{with_cells} {examples}"), sentence, count["wrong"])


def columns(names: Sequence[str]) -> str:
    """Returns names, each followed by a comma."""
    return "".join(f"{name}, " for name in names)
