"""Writes the table in `docs/metrics.md` from the catalogue: `make pages`."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tidemark.pipeline.event_time.policy import REJECTED, Verdict
from tidemark.pipeline.metrics.metric import Metric
from tidemark.pipeline.metrics.metric_catalogue import CATALOGUE, FailureKind, Step, WindowEvent
from tidemark.pipeline.metrics.processes import PROCESSES
from tidemark.pipeline.runtime.disk import Purpose
from tidemark.pipeline.runtime.jobs import JobRunner, LargeJob

PAGE: Final = Path(__file__).parents[1] / "docs" / "metrics.md"
_BEGIN: Final = "<!-- what follows is made by `make pages` from pipeline/metrics/metric_catalogue.py -->\n"
_END: Final = "<!-- down to here -->\n"
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
    before, rest = page.split(_BEGIN)
    _, after = rest.split(_END)
    return f"{before}{_BEGIN}\n{_table((*CATALOGUE, *PROCESSES))}\n{_END}{after}"


def _table(metrics: Iterable[Metric]) -> str:
    head = "| metric | kind | labels | the question it answers | meaning |\n|---|---|---|---|---|\n"
    return head + "".join(map(_row, metrics))


def _row(metric: Metric) -> str:
    labels = "; ".join(map(_label, metric.labels))
    meaning = " ".join(filter(None, (metric.help, metric.note)))
    return f"| `{metric.name}` | {metric.kind} | {labels} | {metric.question} | {meaning} |\n"


def _label(name: str) -> str:
    values = ", ".join(f"`{value}`" for value in _VALUES.get(name, ()))
    return f"`{name}`: {values}" if values else f"`{name}`"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
