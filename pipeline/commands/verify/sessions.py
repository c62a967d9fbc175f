"""Sessions: what of a key follows one another within the gap, unless what came first had closed when the other came."""

from typing import Final

from pipeline import columns as c
from pipeline.commands.verify import sql
from pipeline.commands.verify.periodic import difference
from pipeline.commands.verify.shown import Shown
from pipeline.commands.verify.tables import Tables
from pipeline.commands.verify.text import cell, moment
from pipeline.commands.verify.verification import Finding
from pipeline.event_time.windows.session import Sessions

# In order of time: a part begins a session where all before it had ended, for it and for whatever follows: a gap before
# it began, or closed when it came. (What came after a session had closed lies after its last event.)
_SESSIONS: Final = """
WITH parts AS ({parts}), near AS (
  SELECT parts.*, max(last_time) OVER ({in_order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) + {gap} AS reached,
    min(greatest(first_time - 1, closed)) OVER (
      {in_order} ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
    ) AS apart
  FROM parts
), numbered AS (
  SELECT near.*, sum(CASE WHEN reached > apart THEN 0 ELSE 1 END) OVER ({in_order} ROWS UNBOUNDED PRECEDING) AS number
  FROM near
), sessions AS (
  SELECT {keys} min(first_time) AS start_ms, max(last_time) + {gap} AS end_ms,
    CAST(sum(page_views) AS BIGINT) AS page_views, CAST(sum(clicks) AS BIGINT) AS clicks,
    CAST(sum(late_events) AS BIGINT) AS late_events
  FROM numbered GROUP BY {keys} number
)
"""
# What a correction joined is one row with it, and which sessions that were swept it joined is not known any more.
_CORRECTED: Final = """
, result AS (SELECT {columns} FROM ({rows}) AS rows), added AS ({added}), joined AS (
  SELECT {result_cell}, {sums} FROM result JOIN added
    ON added.start_ms >= result.start_ms AND added.end_ms <= result.end_ms {same_keys}
  GROUP BY {result_cell}
)
"""


def sessions(shown: Shown, windows: Sessions) -> str:
    """`WITH … sessions AS (…)`: all that the panes tell of, as far as the report is published."""
    keys = sql.columns(shown.report.keys)
    by = f"PARTITION BY {keys[:-2]}" if keys else ""
    return _SESSIONS.format(
        parts=sql.parts(shown), in_order=f"{by} ORDER BY first_time, last_time", keys=keys, gap=windows.gap_ms
    )


def check(tables: Tables, shown: Shown, windows: Sessions, finding: Finding) -> None:
    """Session by session where panes are left; the others must have closed."""
    numbers = [*shown.report.sums, c.LATE_EVENTS]
    keys = shown.report.keys
    columns = f"start_ms, end_ms, {sql.columns(keys)}{', '.join(numbers)}"
    added = sql.corrections(tables, shown)
    result = f"SELECT {columns} FROM ({sql.rows(shown)}) AS result"
    due = f"SELECT {columns} FROM sessions WHERE end_ms <= {shown.watermark}"
    begin = sessions(shown, windows)
    if added:
        begin += _corrected(shown, added, numbers)
        _check_corrected(tables, shown, begin, numbers, finding)
        result = _apart("result", keys, numbers)
        due = f"{_apart('sessions', keys, numbers)} AND sessions.end_ms <= {shown.watermark}"
    cells = f"{begin}, cells AS ({sql.side_by_side(('start_ms', 'end_ms', *keys), numbers, result, due)})"
    # Shown without panes: they were swept, as only those may be that have closed.
    swept = f"is_due = 0 AND end_ms <= {shown.closed if shown.is_kept else shown.highest}"
    # After a return to a lower watermark what had fired waits to fire again.
    waits = f"is_due = 0 AND end_ms > {shown.watermark} AND end_ms <= {shown.highest}"
    broken = f"(is_shown <> 1 OR is_due <> 1 OR {sql.differs(numbers)}) AND NOT ({swept}) AND NOT ({waits})"
    rows = tables.ask(sql.examples(cells, broken, "start_ms, end_ms"))
    finding.among("sessions", rows, lambda row: difference(shown.name, row, keys, numbers))
    pending = tables.number(
        f"SELECT count(*) FROM ({sql.parts(shown, published=False)}) AS parts WHERE batch > {shown.published}"
    )
    if pending and shown.published >= 0 and tables.number("SELECT count(watermark) FROM ledger"):
        finding.tell(f"{shown.name}: {pending:,} parts of sessions are not published yet")


def _corrected(shown: Shown, added: str, numbers: list[str]) -> str:
    keys = shown.report.keys
    return _CORRECTED.format(
        columns=", ".join(("start_ms", "end_ms", *keys, *numbers)),
        rows=sql.rows(shown),
        added=added,
        result_cell=", ".join(f"result.{name}" for name in ("start_ms", "end_ms", *keys, *numbers)),
        sums=", ".join(f"CAST(sum(added.{name}) AS BIGINT) AS added_{name}" for name in numbers),
        same_keys=" ".join(f"AND (result.{key} IS NOT DISTINCT FROM added.{key})" for key in keys),
    )


def _apart(of: str, keys: tuple[str, ...], numbers: list[str]) -> str:
    """The sessions of one of the two sides that are no part of a corrected one."""
    columns = ", ".join(f"{of}.{name}" for name in ("start_ms", "end_ms", *keys, *numbers))
    same = " ".join(f"AND (joined.{key} IS NOT DISTINCT FROM {of}.{key})" for key in keys)
    here = f"joined.start_ms <= {of}.start_ms AND joined.end_ms >= {of}.end_ms {same}"
    return f"SELECT {columns} FROM {of} LEFT JOIN joined ON {here} WHERE joined.start_ms IS NULL"


def _check_corrected(tables: Tables, shown: Shown, begin: str, numbers: list[str], finding: Finding) -> None:
    """A corrected session has at least its corrections and what panes still tell of it; no correction is missing."""
    keys = shown.report.keys
    same = " ".join(f"AND (joined.{key} IS NOT DISTINCT FROM sessions.{key})" for key in keys)
    cell_of = ", ".join(f"joined.{name}" for name in ("start_ms", "end_ms", *keys))
    both = ", ".join(
        f"max(joined.{name}) AS shown_{name}, max(added_{name}) + coalesce(sum(sessions.{name}), 0) AS due_{name}"
        for name in numbers
    )
    cells = (
        f"{begin} SELECT 1 AS is_shown, 1 AS is_due, {cell_of}, {both} FROM joined LEFT JOIN sessions "
        f"ON sessions.start_ms >= joined.start_ms AND sessions.end_ms <= joined.end_ms {same} GROUP BY {cell_of}"
    )
    found = tables.ask(cells)
    finding.look(len(found), "corrected sessions")
    wrong = tables.ask(f"SELECT * FROM ({cells}) AS cells WHERE {sql.differs(numbers, '<')}")
    finding.each(wrong, lambda row: difference(shown.name, row, keys, numbers))
    lost = " ".join(f"AND (result.{key} IS NOT DISTINCT FROM added.{key})" for key in keys)
    missing = tables.ask(
        f"{begin} SELECT added.* FROM added LEFT JOIN result "
        f"ON result.start_ms <= added.start_ms AND result.end_ms >= added.end_ms {lost} WHERE result.start_ms IS NULL"
    )
    finding.each(
        missing,
        lambda row: f"{shown.name}: the correction of {moment(row['event_time'])}, {cell(row, keys)}, is in 0 sessions",
    )
