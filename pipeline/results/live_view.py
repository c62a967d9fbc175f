"""The live view of a report: its published and its open windows, as SQL that a reader's own engine runs.

The column `state` is `open` (the window has not ended), `fired` (a late event may still change it), `closed` (it is
final) or `corrected` (too-late events were added).
"""

from dataclasses import replace
from typing import Any, Final

from deltalake import DeltaTable

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time import lateness, rules
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.results.kind_registry import kind_of
from tidemark.pipeline.results.measure_sql import so_far_sql
from tidemark.pipeline.results.missing_panes import missing_until
from tidemark.pipeline.results.result_kind import WindowKind, keys_sql
from tidemark.pipeline.tables.engines import Engine
from tidemark.pipeline.tables.schemas import CORRECTIONS, LEDGER, PANES, result_of

_LIVE_SQL: Final = """
WITH now AS (
  SELECT coalesce(max(watermark), {no_watermark}) AS watermark FROM {ledger}
  WHERE batch = (SELECT max(batch) FROM {ledger})
), parts AS (
  SELECT panes.*{typed_keys}, {reached} AS reached FROM {panes} AS panes CROSS JOIN now
  WHERE panes.report = '{report}' AND panes.batch IN (SELECT batch FROM {ledger})
), {windowed}
SELECT window_start, window_end, {row_keys}{measures}late_events, published_batch, {state} AS state
FROM {result} AS published CROSS JOIN now {corrections}{where}
UNION ALL
SELECT {start} AS window_start, {end} AS window_end, {keys}{others}{so_far}
  CAST(sum(late_events) AS BIGINT), max(batch), 'open'
FROM windowed WHERE {is_open}
GROUP BY {keys}start_ms, end_ms
"""
_CORRECTED_SQL: Final = """LEFT JOIN (
  SELECT DISTINCT result.window_start AS done_start, result.window_end AS done_end{done_keys}
  FROM {result} AS result JOIN {corrections} AS done ON done.report = '{report}'{same_keys}
    AND result.window_start {starts} {start} AND result.window_end {ends} {end}
) AS done ON done_start = window_start AND done_end = window_end{equal_keys}"""


def live_sql(
    warehouse: str, report: Report, engine: Engine, *, corrected: bool, panes: DeltaTable | None = None
) -> str:
    """Returns the query of the view. `corrected`: the warehouse has a table of corrections; `panes` is its table."""
    report = replace(report, closed_before_ms=max(missing_until(panes, report.name), report.closed_before_ms))
    # After a reset of the watermark a published window may be open again, unless panes of it are missing.
    kind, reached = kind_of(report), f"greatest(now.watermark, {report.closed_before_ms})"
    return _LIVE_SQL.format(
        no_watermark=rules.NO_WATERMARK,
        ledger=engine.table(LEDGER, warehouse),
        panes=engine.table(PANES, warehouse),
        result=engine.table(result_of(report), warehouse),
        report=report.name,
        typed_keys=report.typed_keys_sql,
        windowed=kind.open_windows_sql(),
        reached=reached,
        is_open=kind.is_open_sql,
        keys=keys_sql(report),
        row_keys="".join(f"{key}, " for key in report.row_keys),
        # Panes have each value: only a published window has a row for several.
        others="".join(f"CAST(0 AS BIGINT) AS {dimension.others}, " for dimension in report.limited),
        measures="".join(f"{measure}, " for measure in report.measures),
        so_far="".join(f"{so_far_sql(measure, report, engine)}, " for measure in report.chosen_measures),
        start=engine.time("start_ms"),
        end=engine.time("end_ms"),
        state=_state_sql(report, kind, engine, corrected=corrected),
        corrections=_corrections_sql(report, kind, warehouse, engine) if corrected else "",
        where=f" WHERE window_end <= {engine.time(reached)}" if report.windows.by_time else "",
    )


def _state_sql(report: Report, kind: WindowKind[Any], engine: Engine, *, corrected: bool) -> str:
    is_corrected = "done_start IS NOT NULL" if corrected else "false"
    closed_until = engine.time(f"{lateness.closed_until_sql(report, 'now.watermark')}")
    is_closed = kind.is_closed_sql(closed_until)
    return f"CASE WHEN {is_corrected} THEN 'corrected' WHEN {is_closed} THEN 'closed' ELSE 'fired' END"


def _corrections_sql(report: Report, kind: WindowKind[Any], warehouse: str, engine: Engine) -> str:
    """Returns the SQL of the join with windows that corrections were added to."""
    return _CORRECTED_SQL.format(
        result=engine.table(result_of(report), warehouse),
        corrections=engine.table(CORRECTIONS, warehouse),
        report=report.name,
        # A correction contains the event's own window, which is a part of a session.
        starts="<=" if kind.grows else "=",
        ends=">=" if kind.grows else "=",
        start=engine.time(c.WINDOW_START_MS),
        end=engine.time(c.WINDOW_END_MS),
        done_keys="".join(f", result.{key} AS done_{key}" for key in report.keys),
        same_keys=report.same_keys_sql("done"),
        equal_keys="".join(f" AND (done_{key} IS NOT DISTINCT FROM {key})" for key in report.keys),
    )
