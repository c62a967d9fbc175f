"""Writes the table in `docs/metrics.md` from the catalogue: `make pages`."""

import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from dev.generated import with_generated
from tidemark.pipeline.event_time.policy import REJECTED, Verdict
from tidemark.pipeline.metrics.metric import Metric, MetricKind
from tidemark.pipeline.metrics.metric_catalogue import CATALOGUE, FailureKind, Step, WindowEvent
from tidemark.pipeline.metrics.processes import JAVA, PROCESSES
from tidemark.pipeline.runtime.disk import Purpose
from tidemark.pipeline.runtime.jobs import JobRunner, LargeJob

PAGE: Final = Path(__file__).parents[1] / "docs" / "metrics.md"
_SOURCE: Final = "pipeline/metrics/metric_catalogue.py"
_REJECTED: Final = ("partly_late", *(verdict.value for verdict in REJECTED))
_VALUES: Final[dict[str, Iterable[str]]] = {
    "by": JobRunner,
    "event": WindowEvent,
    "job": LargeJob,
    "kind": FailureKind,
    "purpose": Purpose,
    "reason": _REJECTED,
    "step": Step,
    "verdict": Verdict,
}
"""The values of labels with a fixed set of values."""


def with_table(page: str) -> str:
    """Returns `page` with the current table between its markers."""
    return with_generated(page, _SOURCE, f"{_kinds()}\n{_table(CATALOGUE)}\n{_processes()}")


def _kinds() -> str:
    """Returns a sentence on the kinds of the metrics: the names of counters end with `_total`."""
    histograms = " and ".join(f"`{metric.name}`" for metric in CATALOGUE if metric.kind is MetricKind.HISTOGRAM)
    text = f"Metrics that end with `_total` are counters, {histograms} histograms, and all others gauges."
    return textwrap.fill(text, 120) + "\n"


def _table(metrics: Iterable[Metric]) -> str:
    head = "| metric and labels | the question it answers | meaning |\n|---|---|---|\n"
    return head + "".join(map(_row, metrics))


def _row(metric: Metric) -> str:
    labels = " with " + "; ".join(map(_label, metric.labels)) if metric.labels else ""
    meaning = " ".join(filter(None, (metric.help, metric.note)))
    return f"| `{metric.name}`{labels} | {metric.question} | {meaning} |\n"


def _label(name: str) -> str:
    values = ", ".join(f"`{value}`" for value in _VALUES.get(name, ()))
    return f"`{name}`: {values}" if values else f"`{name}`"


def _processes() -> str:
    """Returns the table of the processes' metrics, which have the same names but for the prefix."""
    own = [metric for metric in PROCESSES if not metric.name.startswith(JAVA)]
    rows = "".join(f"| `{metric.name}` | {metric.question} |\n" for metric in own)
    return (
        f"Metrics of the Python process; those of Spark's Java process begin with `{JAVA}_process_`:\n\n"
        f"| metric | the question it answers |\n|---|---|\n{rows}"
    )


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
