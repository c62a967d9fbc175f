"""Sessions: events of a key within the gap of each other, unless the earlier had closed when the other came."""

from functools import partial
from typing import Final

from tidemark.pipeline.event_time.windows.session import Sessions
from tidemark.pipeline.verifier import queries
from tidemark.pipeline.verifier.measured_fields import exact_parts, stored_parts
from tidemark.pipeline.verifier.published_results import PublishedReport
from tidemark.pipeline.verifier.verification import Finding, time_text
from tidemark.pipeline.verifier.warehouse_snapshot import WarehouseSnapshot

# A part keeps its session open from its first event on, or from what had closed when it came if that is later, to a gap
# after its last event. A session is a stretch of time in which some part of the key is open.
_SESSIONS_SQL: Final = """
WITH parts AS ({parts}), spans AS (
  SELECT {keys} first_time, greatest(first_time, closed + 1) AS from_ms, last_time + {gap} AS until_ms, page_views,
    clicks, event_count, {columns} late_events FROM parts
), swept AS ({swept}), numbered AS (
  SELECT swept.*, sum(CASE WHEN open = 0 THEN 1 ELSE 0 END) OVER (
    {by} ORDER BY edge_ms, step DESC ROWS UNBOUNDED PRECEDING
  ) AS session FROM swept
), sessions AS (
  SELECT {keys} min(first_time) AS start_ms, max(until_ms) AS end_ms,
    CAST(sum(page_views) AS BIGINT) AS page_views, CAST(sum(clicks) AS BIGINT) AS clicks,
    CAST(sum(event_count) AS BIGINT) AS events, {joined} CAST(sum(late_events) AS BIGINT) AS late_events
  FROM numbered WHERE step = 1 GROUP BY {keys} session
)
"""
# A correction is part of the row of its session. Which sessions without panes it joined is no longer known.
_CORRECTED_SQL: Final = """
, result AS (SELECT {columns} FROM {table}), added AS ({added}), joined AS (
  SELECT {result_cell}, {sums} FROM result JOIN added ON {inside} GROUP BY {result_cell}
)
"""


def with_sessions(result: PublishedReport, windows: Sessions) -> str:
    """SQL `WITH sessions`: the sessions of all panes up to the published batch."""
    keys, own = result.report.keys, stored_parts(result.report)
    return _SESSIONS_SQL.format(
        parts=queries.panes_sql(result),
        keys=queries.columns(keys),
        columns=queries.columns([part.column for part in own]),
        joined="".join(f"{part.joined()} AS {part.column}, " for part in own),
        gap=windows.gap_ms,
        swept=queries.sweep_sql("spans", keys, "from_ms", "until_ms"),
        by=queries.partition_by(keys),
    )


def check(tables: WarehouseSnapshot, result: PublishedReport, windows: Sessions, finding: Finding) -> None:
    """Compares each session with its panes; only closed sessions may lack them."""
    sessions = with_sessions(result, windows) + _corrected_sql(result, queries.corrections_sql(tables, result))
    _check_corrected(tables, result, sessions, finding)
    actual = _uncorrected_sql("result", result)
    expected = f"{_uncorrected_sql('sessions', result)} AND sessions.end_ms <= {result.watermark}"
    cells = f"{sessions}, cells AS ({queries.compared_sql(result.cell, result.sums, actual, expected)})"
    # Compaction removes the panes of closed sessions only.
    swept = f"expected_rows = 0 AND end_ms <= {result.closed if result.is_configured else result.highest}"
    # After a reset of the watermark sessions that had fired wait to fire again.
    waits = f"expected_rows = 0 AND end_ms > {result.watermark} AND end_ms <= {result.highest}"
    differs = f"actual_rows <> 1 OR expected_rows <> 1 OR {queries.differs_sql(result.sums)}"
    violation = f"({differs}) AND NOT ({swept}) AND NOT ({waits})"
    queries.check_cells(tables, finding, "session", cells, violation, result.difference)
    _check_fields(tables, result, sessions, finding)
    if result.batch >= 0 and tables.scalar("SELECT count(watermark) FROM ledger"):
        parts = f"SELECT count(*) FROM ({queries.panes_sql(result, published=False)}) AS parts"
        pending = tables.scalar(f"{parts} WHERE batch > {result.batch}")
        finding.note_unpublished(result.name, pending, "part", " of sessions")


def uncorrected_sessions(tables: WarehouseSnapshot, result: PublishedReport, windows: Sessions) -> tuple[str, str]:
    """SQL `WITH`, and the sessions of panes up to the published batch that lie in no corrected session."""
    added = queries.corrections_sql(tables, result)
    return with_sessions(result, windows) + _corrected_sql(result, added), _uncorrected_sql("sessions", result)


def _inside_sql(inner: str, outer: str, result: PublishedReport) -> str:
    """SQL condition: `inner` lies inside `outer` and has the same keys."""
    same = "".join(f" AND ({inner}.{key} IS NOT DISTINCT FROM {outer}.{key})" for key in result.report.keys)
    return f"{inner}.start_ms >= {outer}.start_ms AND {inner}.end_ms <= {outer}.end_ms{same}"


def _corrected_sql(result: PublishedReport, added: str) -> str:
    """Further CTEs: `result`, `added`, and `joined`, the rows of `result` with the sums of their corrections."""
    columns = (*result.cell, *result.sums)
    return _CORRECTED_SQL.format(
        columns=", ".join(columns),
        table=result.table,
        added=added,
        result_cell=", ".join(f"result.{name}" for name in columns),
        sums=", ".join(
            f"CAST(sum(added.{queries.correction_column(name)}) AS BIGINT) AS added_{name}" for name in result.sums
        ),
        inside=_inside_sql("added", "result", result),
    )


def _uncorrected_sql(sessions: str, result: PublishedReport) -> str:
    """SQL: the rows of the CTE `sessions` that lie in no corrected session."""
    inside = _inside_sql(sessions, "joined", result)
    return f"SELECT {sessions}.* FROM {sessions} LEFT JOIN joined ON {inside} WHERE joined.start_ms IS NULL"


def _check_fields(tables: WarehouseSnapshot, result: PublishedReport, sessions: str, finding: Finding) -> None:
    """Compares the measures of fields of each session that has its panes and no correction."""
    cells = " AND ".join(f"(published.{name} IS NOT DISTINCT FROM sessions.{name})" for name in result.cell)
    corrected = _inside_sql("sessions", "joined", result)
    for part in exact_parts(result.report):
        wrong = (
            f"{sessions} SELECT sessions.*, {part.published} AS actual, sessions.{part.column} AS expected "
            f"FROM sessions JOIN {result.table} AS published ON {cells} LEFT JOIN joined ON {corrected} "
            f"WHERE joined.start_ms IS NULL AND {part.published} IS DISTINCT FROM sessions.{part.column}"
        )
        finding.report_rows(tables.ask(wrong), partial(part.difference, result))


def _check_corrected(tables: WarehouseSnapshot, result: PublishedReport, sessions: str, finding: Finding) -> None:
    """Checks that a corrected session shows at least its corrections and panes, and that no correction is missing."""
    cell = ", ".join(f"joined.{name}" for name in result.cell)
    sums = ", ".join(
        f"max(joined.{name}) AS actual_{name}, max(added_{name}) + coalesce(sum(sessions.{name}), 0) AS expected_{name}"
        for name in result.sums
    )
    cells = (
        f"{sessions}, cells AS (SELECT 1 AS actual_rows, 1 AS expected_rows, {cell}, {sums} FROM joined "
        f"LEFT JOIN sessions ON {_inside_sql('sessions', 'joined', result)} GROUP BY {cell})"
    )
    queries.check_cells(
        tables, finding, "corrected session", cells, queries.differs_sql(result.sums, "<"), result.difference
    )
    missing = tables.ask(
        f"{sessions} SELECT added.* FROM added LEFT JOIN result "
        f"ON {_inside_sql('added', 'result', result)} WHERE result.start_ms IS NULL"
    )
    finding.report_rows(
        missing,
        lambda row: f"{result.place_of(row)} of the correction of {time_text(row['event_time'])} is in 0 sessions",
    )
