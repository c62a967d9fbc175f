"""What the panels of all dashboards have in common."""

from typing import Final, NamedTuple

from grafana_foundation_sdk.builders import dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.models.dashboard import DataSourceRef

SOURCE: Final = DataSourceRef(type_val="prometheus", uid="tidemark-prometheus")


class Query(NamedTuple):
    """An expression of Prometheus, and what a line of its answer is called."""

    expression: str
    legend: str = "{{instance}}"


def of(metric: str, *labels: str) -> str:
    """The series of a metric, with further selectors, of the instances that are chosen above a dashboard."""
    chosen = ", ".join(['instance=~"$instance"', *labels])
    return f"{metric}{{{chosen}}}"


def rate(metric: str, *labels: str, over: str = "$__rate_interval") -> str:
    """How fast they grow."""
    return f"rate({of(metric, *labels)}[{over}])"


def quantile(share: float, histogram: str, *labels: str, by: str) -> str:
    """The value that a share of the observations is below."""
    return f"histogram_quantile({share}, sum by ({by}) ({rate(histogram + '_bucket', *labels)}))"


def board(title: str, name: str, *panels: stat.Panel | timeseries.Panel) -> dashboard.Dashboard:
    """A dashboard of these panels, with a choice of instances."""
    instances = (
        dashboard.QueryVariable("instance")
        .label("Instance")
        .datasource(SOURCE)
        .query("label_values(tidemark_build_info, instance)")
        .multi(True)  # noqa: FBT003 - the SDK's signature
        .include_all(True)  # noqa: FBT003 - likewise
        .all_value(".*")
    )
    made = dashboard.Dashboard(f"Tidemark: {title}").uid(f"tidemark-{name}").tags(["tidemark"]).refresh("10s")
    made = made.time("now-1h", "now").timezone("utc").with_variable(instances)
    for panel in panels:
        made = made.with_panel(panel)
    return made


def lines(title: str, unit: str, *queries: Query, asks: str, span: int = 12) -> timeseries.Panel:
    """Lines over time; `asks` is the question that they answer."""
    panel = timeseries.Panel().title(title).description(asks).unit(unit).datasource(SOURCE).span(span).height(8)
    for query in queries:
        panel = panel.with_target(_target(query))
    return panel.min(0)


def number(title: str, unit: str, query: Query, asks: str) -> stat.Panel:
    """One number for each instance."""
    panel = stat.Panel().title(title).description(asks).unit(unit).datasource(SOURCE).span(4).height(4)
    return panel.with_target(_target(query))


def _target(query: Query) -> prometheus.Dataquery:
    return prometheus.Dataquery().datasource(SOURCE).expr(query.expression).legend_format(query.legend)
