"""The dashboard for people who ask about visitors, by the views `site_days` and `site_hours`."""

from dataclasses import dataclass
from typing import Any, Final

from grafana_foundation_sdk.builders import common, dashboard, table, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models.common import GraphDrawStyle, StackingMode
from grafana_foundation_sdk.models.dashboard import DataSourceRef, DynamicConfigValue

SQL_SOURCE: Final = DataSourceRef(type_val="grafana-postgresql-datasource", uid="tidemark-sql")
_COLOURS: Final = {"final": "blue", "complete": "light-blue", "so far": "orange", "partial": "purple"}
"""Colours of bars by the state of their number; unknown ones have no number."""
_DAYS_SQL: Final = """SELECT window_start AS "day", page_views, clicks, visitors AS "visitors (about)", state,
  covered_from, covered_until
FROM site_days WHERE $__timeFilter(window_start) ORDER BY 1 DESC"""


@dataclass
class _Rows(Builder[Dataquery], Dataquery):
    """A statement for Grafana's PostgreSQL source."""

    sql: str
    form: str

    def build(self) -> Dataquery:
        return self

    def to_json(self) -> dict[str, Any]:
        return {
            "datasource": {"type": SQL_SOURCE.type_val, "uid": SQL_SOURCE.uid},
            "editorMode": "code",
            "format": self.form,
            "rawQuery": True,
            "rawSql": self.sql,
            "refId": "A",
        }


def visitors() -> dashboard.Dashboard:
    """Returns the dashboard of page views and visitors by day and by hour."""
    board = dashboard.Dashboard("Tidemark: visitors").uid("tidemark-visitors").tags(["tidemark"]).refresh("1m")
    board = board.time("now-28d", "now").timezone("utc")
    for panel in (
        _bars("Page views by day", "page_views", "site_days", "How many pages were viewed, and is the number final?"),
        _bars(
            "Visitors by day, about", "visitors", "site_days", "How many users came? A running day has no number yet"
        ),
        _bars("Page views by hour", "page_views", "site_hours", "When is the site busy?"),
        _days(),
    ):
        board = board.with_panel(panel)
    return board


def _bars(title: str, number: str, view: str, question: str) -> timeseries.Panel:
    """Returns a panel of bars, with a colour for each state: no unfinished number looks like a whole one."""
    columns = ",\n  ".join(f"CASE WHEN state = '{state}' THEN {number} END AS \"{state}\"" for state in _COLOURS)
    sql = f"SELECT window_start AS time,\n  {columns}\nFROM {view} WHERE $__timeFilter(window_start) ORDER BY 1"
    panel = timeseries.Panel().title(title).description(question).datasource(SQL_SOURCE).span(24).height(8).min(0)
    panel = panel.draw_style(GraphDrawStyle.BARS).fill_opacity(80)
    panel = panel.stacking(common.StackingConfig().mode(StackingMode.NORMAL))
    for state, colour in _COLOURS.items():
        fixed = DynamicConfigValue(id_val="color", value={"mode": "fixed", "fixedColor": colour})
        panel = panel.override_by_name(state, [fixed])
    return panel.with_target(_Rows(sql, "time_series"))


def _days() -> table.Panel:
    panel = table.Panel().title("Days").description("Which days are final, and until when does a running one count?")
    return panel.datasource(SQL_SOURCE).span(24).height(10).with_target(_Rows(_DAYS_SQL, "table"))
