"""The dashboard with the duration of the five steps of a batch."""

from typing import Final

from grafana_foundation_sdk.builders import dashboard, timeseries

from dev.dashboards.panels import Query, board, line_panel, quantile, rate, series
from tidemark.pipeline.metrics.metric_catalogue import Step

_DURATION: Final = "tidemark_batch_duration_seconds"


def steps() -> dashboard.Dashboard:
    """Returns a chart for each step that is timed, and charts of commits and publications."""
    return board("a batch's five steps", "steps", *_durations(), *_commits())


def _durations() -> list[timeseries.Panel]:
    return [
        line_panel(
            "Share of the time",
            "percentunit",
            Query(_seconds("sum"), "{{step}}"),
            question="How much of a second does each step take? Publication is concurrent with the other steps",
        ),
        line_panel("Batches", "cps", Query(rate("tidemark_batches_total")), question="Are batches processed?"),
        *(
            line_panel(
                step.replace("_", " ").capitalize(),
                "s",
                *(
                    Query(quantile(share, _DURATION, f'step="{step}"', by="le"), f"{share:.0%}")
                    for share in (0.5, 0.95)
                ),
                Query(f"{_seconds('sum', step)} / {_seconds('count', step)}", "mean"),
                question=f"How long does the step {step} take?",
            )
            for step in Step
        ),
    ]


def _commits() -> list[timeseries.Panel]:
    return [
        line_panel(
            "Records a batch",
            "short",
            Query(
                f"sum by (instance) ({rate('tidemark_records_total')}) "
                f"/ sum by (instance) ({rate('tidemark_batches_total')})"
            ),
            question="How large are batches?",
        ),
        line_panel(
            "Since the last commit, publication, failure and answer",
            "s",
            Query(f"time() - {series('tidemark_last_commit_timestamp_seconds')}", "{{instance}} commit"),
            Query(f"time() - {series('tidemark_last_publication_timestamp_seconds')}", "{{instance}} publication"),
            Query(f"time() - {series('tidemark_unpublished_since_timestamp_seconds')}", "{{instance}} unpublished"),
            Query(f"time() - {series('tidemark_last_error_timestamp_seconds')}", "{{instance}} failure"),
            Query(f"time() - {series('tidemark_log_ends_timestamp_seconds')}", "{{instance}} answer of the broker"),
            question="Do commits, publications or the broker's answers stop?",
            alert="TidemarkNoCommit",
        ),
        line_panel(
            "Publication",
            "short",
            Query(series("tidemark_unpublished_batches"), "{{instance}} batches unpublished"),
            Query(f"increase({series('tidemark_publication_failures_total')}[5m])", "{{instance}} refused in 5 min"),
            question="Is publication delayed, or refused?",
            alert="TidemarkPublicationFailing",
        ),
        line_panel(
            "Jobs on tables",
            "cps",
            Query(rate("tidemark_table_jobs_total"), "{{instance}} {{job}} {{by}}"),
            question="Does large work go to the executors?",
        ),
    ]


def _seconds(part: str, step: str = ".*") -> str:
    seconds = rate(f"{_DURATION}_{part}", f'step=~"{step}"')
    return f"sum by (step) ({seconds})"
