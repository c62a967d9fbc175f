"""The live view of a report: what is published, and its open windows so far, as SQL that a reader's own engine runs.

Every row says in `state` what it is: `open` (it goes on), `fired` (a late event may still change it), `closed` (it is
final), `corrected` (too-late events were added since).
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Final

from pipeline.errors import SetUpError
from pipeline.frames import columns as c
from pipeline.tables.layout import made_as
from pipeline.tables.schemas import CORRECTIONS, LEDGER, PANES, TableSpec, result_of
from pipeline.time import rules
from pipeline.time.grid import Grid
from pipeline.time.report import Report


class Engine(StrEnum):
    """Whose SQL it is."""

    SPARK = "spark"
    DUCKDB = "duckdb"
    DELTA_RS = "delta-rs"
    """Of `deltalake.QueryBuilder`, where the tables are registered by their names."""


_TIME: Final[dict[Engine, str]] = {
    Engine.SPARK: "timestamp_millis({})",
    Engine.DUCKDB: "make_timestamptz(({}) * 1000)",
    Engine.DELTA_RS: "arrow_cast(({}) * 1000, 'Timestamp(Microsecond, Some(\"UTC\"))')",
}
_TABLE: Final[dict[Engine, Callable[[TableSpec, str], str]]] = {
    Engine.SPARK: lambda spec, warehouse: f"delta.`{spec.uri(warehouse)}`",
    Engine.DUCKDB: lambda spec, warehouse: f"delta_scan('{spec.uri(warehouse)}')",
    Engine.DELTA_RS: lambda spec, _: spec.name,
}
_SQL: Final = """
WITH now AS (
  SELECT coalesce(max(watermark), {no_watermark}) AS watermark FROM {ledger}
), parts AS (
  SELECT panes.*,
    pane_start - (pane_start - {offset_ms}) % {slide_ms} + {size_ms} - back.n * {slide_ms} AS window_end_ms,
    now.watermark AS frontier
  FROM {panes} AS panes CROSS JOIN (VALUES {backs}) AS back (n) CROSS JOIN now
  WHERE panes.report = '{report}' AND panes.batch IN (SELECT batch FROM {ledger})
)
SELECT window_start, window_end, {keys}{measures}late_events, published_batch,
  CASE WHEN {is_corrected} THEN 'corrected' WHEN window_end <= {closed} THEN 'closed' ELSE 'fired' END AS state
FROM {result} AS shown CROSS JOIN now {corrections}
UNION ALL
SELECT {start} AS window_start, {end} AS window_end, {keys}{measures_so_far}
  sum(0), max(batch), 'open'
FROM parts WHERE window_end_ms > pane_start AND window_end_ms > frontier
GROUP BY {keys}window_end_ms
"""
_SO_FAR: Final = {
    c.PAGE_VIEWS: "sum(page_views)",
    c.CLICKS: "sum(clicks)",
    c.UNIQUE_USERS: "NULL",
    c.SESSIONS_BEGUN: "NULL",
}
_CORRECTED: Final = """LEFT JOIN (
  SELECT DISTINCT {start} AS done_start, {end} AS done_end{done_keys} FROM {table} WHERE report = '{report}'
) AS done ON done_start = window_start AND done_end = window_end{same_keys}"""


def live_sql(warehouse: str, name: str, engine: Engine, *, corrected: bool) -> str:
    """The query. `corrected`: whether the warehouse has corrections.

    Raises SetUpError where the report does not exist or its windows are not of a fixed length.
    """
    report = made_as(name, warehouse)
    grid = report.windows
    if not isinstance(grid, Grid):
        raise SetUpError(f"the windows of report {name} have no fixed length: there is a live view of those that have")
    time, table = _TIME[engine], _TABLE[engine]
    return _SQL.format(
        no_watermark=rules.NO_WATERMARK,
        ledger=table(LEDGER, warehouse),
        panes=table(PANES, warehouse),
        result=table(result_of(report), warehouse),
        size_ms=grid.size_ms,
        slide_ms=grid.slide_ms,
        offset_ms=grid.offset_ms,
        backs=", ".join(f"({number})" for number in range(-(-grid.size_ms // grid.slide_ms))),
        report=name,
        keys="".join(f"{key}, " for key in report.keys),
        measures="".join(f"{measure}, " for measure in report.measures),
        measures_so_far="".join(f"{_SO_FAR[measure]}, " for measure in report.measures),
        closed=time.format(f"now.watermark - {report.allowed_lateness_ms}"),
        start=time.format(f"window_end_ms - {grid.size_ms}"),
        end=time.format("window_end_ms"),
        is_corrected="done_start IS NOT NULL" if corrected else "false",
        corrections=_corrections(report, table(CORRECTIONS, warehouse), time) if corrected else "",
    )


def _corrections(report: Report, table: str, time: str) -> str:
    return _CORRECTED.format(
        table=table,
        report=report.name,
        start=time.format("window_start_ms"),
        end=time.format("window_end_ms"),
        done_keys="".join(f", {key} AS done_{key}" for key in report.keys),
        same_keys="".join(f" AND done_{key} = {key}" for key in report.keys),
    )


def view_name(name: str) -> str:
    """What the view of a report is called."""
    return f"{name}_live"
