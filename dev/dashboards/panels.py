"""Builders of queries, panels and dashboards."""

from typing import Final, NamedTuple

from grafana_foundation_sdk.builders import dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.models.dashboard import DataSourceRef

SOURCE: Final = DataSourceRef(type_val="prometheus", uid="tidemark-prometheus")


class Query(NamedTuple):
    """A Prometheus expression, and the legend of its series."""

    expression: str
    legend: str = "{{instance}}"


def series(metric: str, *selectors: str) -> str:
    """Returns a selector of the series of `metric` for the instances that are chosen in the dashboard."""
    all_selectors = ", ".join(['instance=~"$instance"', *selectors])
    return f"{metric}{{{all_selectors}}}"


def rate(metric: str, *selectors: str, over: str = "$__rate_interval") -> str:
    """Returns the rate per second of the series of `metric`."""
    return f"rate({series(metric, *selectors)}[{over}])"


def quantile(share: float, histogram: str, *selectors: str, by: str) -> str:
    """Returns the quantile `share` (0 to 1) of a histogram, per values of the labels `by`."""
    return f"histogram_quantile({share}, sum by ({by}) ({rate(histogram + '_bucket', *selectors)}))"


def board(title: str, name: str, *panels: stat.Panel | timeseries.Panel) -> dashboard.Dashboard:
    """Returns a dashboard of `panels`, with a choice of instances."""
    instances = (
        dashboard.QueryVariable("instance")
        .label("Instance")
        .datasource(SOURCE)
        .query("label_values(tidemark_build_info, instance)")
        .multi(True)  # noqa: FBT003 - the SDK's signature
        .include_all(True)  # noqa: FBT003 - the SDK's signature
        .all_value(".*")
    )
    result = dashboard.Dashboard(f"Tidemark: {title}").uid(f"tidemark-{name}").tags(["tidemark"]).refresh("10s")
    result = result.time("now-1h", "now").timezone("utc").with_variable(instances)
    for panel in panels:
        result = result.with_panel(panel)
    return result


def line_panel(title: str, unit: str, *queries: Query, question: str, span: int = 12) -> timeseries.Panel:
    """Returns a panel of lines over time; `question` is the question that it answers."""
    panel = timeseries.Panel().title(title).description(question).unit(unit).datasource(SOURCE).span(span).height(8)
    for query in queries:
        panel = panel.with_target(_target(query))
    return panel.min(0)


def stat_panel(title: str, unit: str, query: Query, question: str) -> stat.Panel:
    """Returns a panel with one value per instance; `question` is the question that it answers."""
    panel = stat.Panel().title(title).description(question).unit(unit).datasource(SOURCE).span(4).height(4)
    return panel.with_target(_target(query))


def _target(query: Query) -> prometheus.Dataquery:
    return prometheus.Dataquery().datasource(SOURCE).expr(query.expression).legend_format(query.legend)
