"""The five steps of a batch: where the time goes."""

from grafana_foundation_sdk.builders import dashboard

from dev.dashboards.panels import CHOSEN, Query, board, lines
from pipeline.metrics.catalogue import Step


def steps() -> dashboard.Dashboard:
    """A chart for each step that is timed, and for what comes of the fifth: commits, and what is observed."""
    made = board("a batch's five steps", "steps")
    for chart in (
        lines(
            "Share of the time",
            "percentunit",
            Query(_seconds("sum"), "{{step}}"),
            asks="Which step takes how much of a second? Publication runs beside the others",
        ),
        lines(
            "Batches",
            "cps",
            Query(f"rate(tidemark_batches_total{{{CHOSEN}}}[$__rate_interval])"),
            asks="Is it at work?",
        ),
        *(
            lines(
                step.replace("_", " ").capitalize(),
                "s",
                *(Query(_quantile(step, quantile), f"{quantile:.0%}") for quantile in (0.5, 0.95)),
                Query(_mean(step), "mean"),
                asks=f"How long does the step {step} take?",
            )
            for step in Step
        ),
        lines(
            "Records a batch",
            "short",
            Query(
                f"sum by (instance) (rate(tidemark_records_total{{{CHOSEN}}}[$__rate_interval])) "
                f"/ sum by (instance) (rate(tidemark_batches_total{{{CHOSEN}}}[$__rate_interval]))"
            ),
            asks="How large are batches?",
        ),
        lines(
            "Since the last commit and publication",
            "s",
            Query(f"time() - tidemark_last_commit_timestamp_seconds{{{CHOSEN}}}", "{{instance}} commit"),
            Query(f"time() - tidemark_last_publication_timestamp_seconds{{{CHOSEN}}}", "{{instance}} publication"),
            asks="Does one of them stand still?",
        ),
        lines(
            "Publication",
            "short",
            Query(f"tidemark_unpublished_batches{{{CHOSEN}}}", "{{instance}} batches unpublished"),
            Query(
                f"increase(tidemark_publication_failures_total{{{CHOSEN}}}[5m])", "{{instance}} refused in 5 minutes"
            ),
            asks="Is publication behind, or refused?",
        ),
    ):
        made = made.with_panel(chart)
    return made


def _seconds(part: str, step: str = ".*") -> str:
    series = f'tidemark_batch_duration_seconds_{part}{{{CHOSEN}, step=~"{step}"}}'
    return f"sum by (step) (rate({series}[$__rate_interval]))"


def _mean(step: str) -> str:
    return f"{_seconds('sum', step)} / {_seconds('count', step)}"


def _quantile(step: str, quantile: float) -> str:
    buckets = f'rate(tidemark_batch_duration_seconds_bucket{{{CHOSEN}, step="{step}"}}[$__rate_interval])'
    return f"histogram_quantile({quantile}, sum by (le) ({buckets}))"
