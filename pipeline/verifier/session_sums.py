"""Sessions: what of a key follows one another within the gap, unless what came first had closed when the other came."""

from typing import Final

from pipeline.event_time.windows.session import Sessions
from pipeline.verifier import queries
from pipeline.verifier.periodic_sums import difference
from pipeline.verifier.published_results import Shown
from pipeline.verifier.verification import Finding
from pipeline.verifier.warehouse_snapshot import WarehouseSnapshot
from pipeline.verifier.wording import moment

# A part keeps its session open from its first event on, or from what had closed when it came if that is later, to a gap
# after its last event. A session is a stretch of time in which some part of the key is open.
_SESSIONS_SQL: Final = """
WITH parts AS ({parts}), spans AS (
  SELECT {keys} first_time, greatest(first_time, closed + 1) AS from_ms, last_time + {gap} AS until_ms, page_views,
    clicks, late_events FROM parts
), swept AS ({swept}), numbered AS (
  SELECT swept.*, sum(CASE WHEN open = 0 THEN 1 ELSE 0 END) OVER (
    {by} ORDER BY edge_ms, step DESC ROWS UNBOUNDED PRECEDING
  ) AS number FROM swept
), sessions AS (
  SELECT {keys} min(first_time) AS start_ms, max(until_ms) AS end_ms,
    CAST(sum(page_views) AS BIGINT) AS page_views, CAST(sum(clicks) AS BIGINT) AS clicks,
    CAST(sum(late_events) AS BIGINT) AS late_events
  FROM numbered WHERE step = 1 GROUP BY {keys} number
)
"""
# What a correction joined is one row with it, and which sessions that were swept it joined is not known any more.
_CORRECTED: Final = """
, result AS (SELECT {columns} FROM ({rows}) AS rows), added AS ({added}), joined AS (
  SELECT {result_cell}, {sums} FROM result JOIN added ON {inside} GROUP BY {result_cell}
)
"""


def sessions(shown: Shown, windows: Sessions) -> str:
    """`WITH … sessions AS (…)`: all that the panes tell of, as far as the report is published."""
    keys = shown.report.keys
    return _SESSIONS_SQL.format(
        parts=queries.parts(shown),
        keys=queries.columns(keys),
        gap=windows.gap_ms,
        swept=queries.sweep_sql("spans", keys, "from_ms", "until_ms"),
        by=queries.partition_by(keys),
    )


def check(tables: WarehouseSnapshot, shown: Shown, windows: Sessions, finding: Finding) -> None:
    """Session by session where panes are left; the others must have closed."""
    begin, added = sessions(shown, windows), queries.corrections(tables, shown)
    if tables.number(f"SELECT count(*) FROM ({added}) AS added"):
        begin += _corrected(shown, added)
        _check_corrected(tables, shown, begin, finding)
        result = _apart("result", shown)
        due = f"{_apart('sessions', shown)} AND sessions.end_ms <= {shown.watermark}"
    else:
        result, due = queries.rows(shown), f"SELECT * FROM sessions WHERE end_ms <= {shown.watermark}"
    cells = f"{begin}, cells AS ({queries.side_by_side(shown.cell, shown.numbers, result, due)})"
    # Shown without panes: they were swept, as only those may be that have closed.
    swept = f"is_due = 0 AND end_ms <= {shown.closed if shown.is_kept else shown.highest}"
    # After a return to a lower watermark what had fired waits to fire again.
    waits = f"is_due = 0 AND end_ms > {shown.watermark} AND end_ms <= {shown.highest}"
    broken = f"(is_shown <> 1 OR is_due <> 1 OR {queries.differs(shown.numbers)}) AND NOT ({swept}) AND NOT ({waits})"
    rows = tables.ask(queries.examples(cells, broken, "start_ms, end_ms"))
    finding.among("sessions", rows, lambda row: difference(shown, row))
    pending = tables.number(
        f"SELECT count(*) FROM ({queries.parts(shown, published=False)}) AS parts WHERE batch > {shown.published}"
    )
    if pending and shown.published >= 0 and tables.number("SELECT count(watermark) FROM ledger"):
        finding.tell(f"{shown.name}: {pending:,} parts of sessions are not published yet")


def _inside(inner: str, outer: str, shown: Shown) -> str:
    """SQL: that a session is a part of another one, of the same keys."""
    same = "".join(f" AND ({inner}.{key} IS NOT DISTINCT FROM {outer}.{key})" for key in shown.report.keys)
    return f"{inner}.start_ms >= {outer}.start_ms AND {inner}.end_ms <= {outer}.end_ms{same}"


def _corrected(shown: Shown, added: str) -> str:
    columns = (*shown.cell, *shown.numbers)
    return _CORRECTED.format(
        columns=", ".join(columns),
        rows=queries.rows(shown),
        added=added,
        result_cell=", ".join(f"result.{name}" for name in columns),
        sums=", ".join(f"CAST(sum(added.{name}) AS BIGINT) AS added_{name}" for name in shown.numbers),
        inside=_inside("added", "result", shown),
    )


def _apart(of: str, shown: Shown) -> str:
    """The sessions of one of the two sides that are no part of a corrected one."""
    return f"SELECT {of}.* FROM {of} LEFT JOIN joined ON {_inside(of, 'joined', shown)} WHERE joined.start_ms IS NULL"


def _check_corrected(tables: WarehouseSnapshot, shown: Shown, begin: str, finding: Finding) -> None:
    """A corrected session has at least its corrections and what panes still tell of it; no correction is missing."""
    cell = ", ".join(f"joined.{name}" for name in shown.cell)
    both = ", ".join(
        f"max(joined.{name}) AS shown_{name}, max(added_{name}) + coalesce(sum(sessions.{name}), 0) AS due_{name}"
        for name in shown.numbers
    )
    cells = (
        f"{begin} SELECT 1 AS is_shown, 1 AS is_due, {cell}, {both} FROM joined LEFT JOIN sessions "
        f"ON {_inside('sessions', 'joined', shown)} GROUP BY {cell}"
    )
    finding.look(len(tables.ask(cells)), "corrected sessions")
    wrong = tables.ask(f"SELECT * FROM ({cells}) AS cells WHERE {queries.differs(shown.numbers, '<')}")
    finding.each(wrong, lambda row: difference(shown, row))
    missing = tables.ask(
        f"{begin} SELECT added.* FROM added LEFT JOIN result "
        f"ON {_inside('added', 'result', shown)} WHERE result.start_ms IS NULL"
    )
    where = f"{shown.name}: the correction of"
    finding.each(missing, lambda row: f"{where} {moment(row['event_time'])}, {shown.place(row)}, is in 0 sessions")
