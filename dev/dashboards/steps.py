"""The five steps of a batch: where the time goes."""

from typing import Final

from grafana_foundation_sdk.builders import dashboard, timeseries

from dev.dashboards.panels import Query, board, lines, of, quantile, rate
from pipeline.metrics.metric_catalogue import Step

_DURATION: Final = "tidemark_batch_duration_seconds"


def steps() -> dashboard.Dashboard:
    """Returns a chart for each step that is timed, and charts of commits and publications."""
    return board("a batch's five steps", "steps", *_durations(), *_commits())


def _durations() -> list[timeseries.Panel]:
    return [
        lines(
            "Share of the time",
            "percentunit",
            Query(_seconds("sum"), "{{step}}"),
            asks="Which step takes how much of a second? Publication runs beside the others",
        ),
        lines("Batches", "cps", Query(rate("tidemark_batches_total")), asks="Is it at work?"),
        *(
            lines(
                step.replace("_", " ").capitalize(),
                "s",
                *(
                    Query(quantile(share, _DURATION, f'step="{step}"', by="le"), f"{share:.0%}")
                    for share in (0.5, 0.95)
                ),
                Query(f"{_seconds('sum', step)} / {_seconds('count', step)}", "mean"),
                asks=f"How long does the step {step} take?",
            )
            for step in Step
        ),
    ]


def _commits() -> list[timeseries.Panel]:
    return [
        lines(
            "Records a batch",
            "short",
            Query(
                f"sum by (instance) ({rate('tidemark_records_total')}) "
                f"/ sum by (instance) ({rate('tidemark_batches_total')})"
            ),
            asks="How large are batches?",
        ),
        lines(
            "Since the last commit and publication",
            "s",
            Query(f"time() - {of('tidemark_last_commit_timestamp_seconds')}", "{{instance}} commit"),
            Query(f"time() - {of('tidemark_last_publication_timestamp_seconds')}", "{{instance}} publication"),
            asks="Does one of them stand still?",
        ),
        lines(
            "Publication",
            "short",
            Query(of("tidemark_unpublished_batches"), "{{instance}} batches unpublished"),
            Query(f"increase({of('tidemark_publication_failures_total')}[5m])", "{{instance}} refused in 5 minutes"),
            asks="Is publication behind, or refused?",
        ),
    ]


def _seconds(part: str, step: str = ".*") -> str:
    series = rate(f"{_DURATION}_{part}", f'step=~"{step}"')
    return f"sum by (step) ({series})"
