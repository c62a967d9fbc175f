"""The live view of a report: what is published, and its open windows so far, as SQL that a reader's own engine runs.

Every row says in `state` what it is: `open` (it goes on), `fired` (a late event may still change it), `closed` (it is
final), `corrected` (too-late events were added since).
"""

from typing import Any, Final

from pipeline import columns as c
from pipeline.event_time import lateness, rules
from pipeline.event_time.reports import Report
from pipeline.results.kind_registry import kind_of
from pipeline.results.measure_sql import so_far
from pipeline.results.result_kind import WindowKind, keys_of
from pipeline.tables.engines import Engine
from pipeline.tables.schemas import CORRECTIONS, LEDGER, PANES, result_of

_SQL: Final = """
WITH now AS (
  SELECT coalesce(max(watermark), {no_watermark}) AS watermark FROM {ledger}
), parts AS (
  SELECT panes.*, now.watermark AS reached FROM {panes} AS panes CROSS JOIN now
  WHERE panes.report = '{report}' AND panes.batch IN (SELECT batch FROM {ledger})
), {windowed}
SELECT window_start, window_end, {keys}{measures}late_events, published_batch, {state} AS state
FROM {result} AS shown CROSS JOIN now {corrections}
UNION ALL
SELECT {start} AS window_start, {end} AS window_end, {keys}{so_far}
  CAST(sum(late_events) AS BIGINT), max(batch), 'open'
FROM windowed WHERE {is_open}
GROUP BY {keys}start_ms, end_ms
"""
_CORRECTED: Final = """LEFT JOIN (
  SELECT DISTINCT it.window_start AS done_start, it.window_end AS done_end{done_keys}
  FROM {result} AS it JOIN {corrections} AS done ON done.report = '{report}'{same_keys}
    AND it.window_start {begins} {start} AND it.window_end {ends} {end}
) AS done ON done_start = window_start AND done_end = window_end{equal_keys}"""


def live_sql(warehouse: str, report: Report, engine: Engine, *, corrected: bool) -> str:
    """The query. `corrected`: whether the warehouse has corrections."""
    kind = kind_of(report)
    return _SQL.format(
        no_watermark=rules.NO_WATERMARK,
        ledger=engine.table(LEDGER, warehouse),
        panes=engine.table(PANES, warehouse),
        result=engine.table(result_of(report), warehouse),
        report=report.name,
        windowed=kind.open_windows(),
        is_open=kind.is_open,
        keys=keys_of(report),
        measures="".join(f"{measure}, " for measure in report.measures),
        so_far="".join(f"{so_far(measure, report, engine)}, " for measure in report.chosen_measures),
        start=engine.time("start_ms"),
        end=engine.time("end_ms"),
        state=_state(report, kind, engine, corrected=corrected),
        corrections=_corrections(report, kind, warehouse, engine) if corrected else "",
    )


def _state(report: Report, kind: WindowKind[Any], engine: Engine, *, corrected: bool) -> str:
    is_corrected = "done_start IS NOT NULL" if corrected else "false"
    closed_until = engine.time(f"{lateness.closed_until_sql(report, 'now.watermark')}")
    return (
        f"CASE WHEN {is_corrected} THEN 'corrected' WHEN {kind.is_closed(closed_until)} THEN 'closed' ELSE 'fired' END"
    )


def _corrections(report: Report, kind: WindowKind[Any], warehouse: str, engine: Engine) -> str:
    """The windows that corrections were added to."""
    return _CORRECTED.format(
        result=engine.table(result_of(report), warehouse),
        corrections=engine.table(CORRECTIONS, warehouse),
        report=report.name,
        # A correction tells only the event's own part of a session.
        begins="<=" if kind.grows else "=",
        ends=">=" if kind.grows else "=",
        start=engine.time(c.WINDOW_START_MS),
        end=engine.time(c.WINDOW_END_MS),
        done_keys="".join(f", it.{key} AS done_{key}" for key in report.keys),
        same_keys="".join(f" AND it.{key} = done.{key}" for key in report.keys),
        equal_keys="".join(f" AND done_{key} = {key}" for key in report.keys),
    )


def view_name(name: str) -> str:
    """The name of a report's view."""
    return f"{name}_live"
