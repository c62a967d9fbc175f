"""Builders of queries, panels and dashboards."""

from typing import Final, NamedTuple

from grafana_foundation_sdk.builders import dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models.dashboard import (
    DashboardLink,
    DashboardLinkType,
    DataSourceRef,
    Threshold,
    ThresholdsMode,
)

SOURCE: Final = DataSourceRef(type_val="prometheus", uid="tidemark-prometheus")
Steps = tuple[tuple[float | None, str], ...]
"""Colours by the lowest value that has them, in order; the first value is None."""
NEUTRAL: Final[Steps] = ((None, "text"),)
EVENTS: Final = {
    "Restarts": ("changes(process_start_time_seconds{{{}}}[2m]) > 0", "orange"),
    "Corrections": ('changes(tidemark_table_rows{{{}, table="corrections"}}[2m]) > 0', "blue"),
}
"""Queries and colours of the annotations, by name."""
_RUNBOOK: Final = "docs/runbook.md"
_INSTANCES: Final = 'instance=~"$instance"'


class Query(NamedTuple):
    """A Prometheus expression, and the legend of its series."""

    expression: str
    legend: str = "{{instance}}"


def series(metric: str, *selectors: str) -> str:
    """Returns a selector of the series of `metric` for the instances that are chosen in the dashboard."""
    all_selectors = ", ".join([_INSTANCES, *selectors])
    return f"{metric}{{{all_selectors}}}"


def rate(metric: str, *selectors: str, over: str = "$__rate_interval") -> str:
    """Returns the rate per second of the series of `metric`."""
    return f"rate({series(metric, *selectors)}[{over}])"


def quantile(share: float, histogram: str, *selectors: str, by: str) -> str:
    """Returns the quantile `share` (0 to 1) of a histogram, per values of the labels `by`."""
    return f"histogram_quantile({share}, sum by ({by}) ({rate(histogram + '_bucket', *selectors)}))"


def board(title: str, name: str, *panels: stat.Panel | timeseries.Panel) -> dashboard.Dashboard:
    """Returns a dashboard of `panels`, with a choice of instances, and the address of the runbook for their links."""
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
    result = result.with_variable(dashboard.TextBoxVariable("runbook").label("Runbook").default_value(_RUNBOOK))
    for event, (query, color) in EVENTS.items():
        result = result.annotation(_annotation(event, query.format(_INSTANCES), color))
    for panel in panels:
        result = result.with_panel(panel)
    return result


def _annotation(name: str, query: str, color: str) -> dashboard.AnnotationQuery:
    annotation = dashboard.AnnotationQuery().name(name).datasource(SOURCE).expr(query)
    return annotation.enable(True).icon_color(color)  # noqa: FBT003 - the SDK's signature


def line_panel(title: str, unit: str, *queries: Query, question: str, alert: str = "") -> timeseries.Panel:
    """Returns a panel of lines over time; `question` is the question that it answers, `alert` an alert about it."""
    panel = timeseries.Panel().title(title).description(question).unit(unit).datasource(SOURCE).span(12).height(8)
    panel = panel.links(_links(alert))
    for query in queries:
        panel = panel.with_target(_target(query))
    return panel.min(0)


def stat_panel(
    title: str, unit: str, query: Query, question: str, steps: Steps = NEUTRAL, alert: str = ""
) -> stat.Panel:
    """Returns a panel with one value per instance, coloured by `steps`; `alert` is an alert about it."""
    panel = stat.Panel().title(title).description(question).unit(unit).datasource(SOURCE).span(6).height(4)
    # Without thresholds Grafana colours any value above 80 red.
    thresholds = dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE)
    panel = panel.thresholds(thresholds.steps([Threshold(value, color) for value, color in steps]))
    return panel.links(_links(alert)).with_target(_target(query))


def _links(alert: str) -> list[Builder[DashboardLink]]:
    """Returns the link to the section of an alert in the runbook."""
    link = dashboard.DashboardLink(f"Runbook: {alert}").url(f"${{runbook}}#{alert.lower()}")
    return [link.type(DashboardLinkType.LINK).target_blank(True)] if alert else []  # noqa: FBT003 - the SDK's signature


def _target(query: Query) -> prometheus.Dataquery:
    return prometheus.Dataquery().datasource(SOURCE).expr(query.expression).legend_format(query.legend)
