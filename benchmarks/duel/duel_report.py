"""The tables of a duel for the terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.table import Table

from benchmarks.duel.contestant import Contestant
from benchmarks.report import figures_table

FAILURE: Final = "failure"
_ANSWERS: Final = {
    "lost": "lost",
    "rejected": "good, called late",
    "doubled": "doubled",
    "repeats": "repeats counted",
    "aborted": "aborted counted",
}
_REPORTED: Final = ("late", "future", "malformed")
_VERDICTS: Final = ("counted", "said", "silent")


def options_table(contestants: Sequence[type[Contestant]]) -> Table:
    """Returns a table of the contestants' options."""
    rows = [(kind.title, kind.options) for kind in contestants]
    return figures_table("Contestants of the duel", ["contestant", "options"], rows, words=2)


def results_table(outcomes: Mapping[str, Mapping[str, Any]]) -> Table:
    """Returns a table with a column for each contestant; CPU is that of both lives, without the broker."""
    heads = [
        *_ANSWERS.values(),
        *(f"{name}: {verdict}" for name in _REPORTED for verdict in _VERDICTS),
        "CPU us/record",
    ]
    columns = [list(_cells(outcome, len(heads))) for outcome in outcomes.values()]
    return figures_table("The duel", ["events", *outcomes], zip(heads, *columns, strict=True), words=1)


def _cells(outcome: Mapping[str, Any], number: int) -> Iterator[str]:
    if FAILURE in outcome:
        yield from ["could not run", *[""] * (number - 1)]
        return
    yield from (f"{outcome['summary'][name]:,}" for name in _ANSWERS)
    yield from (f"{outcome['classes'][name][verdict]:,}" for name in _REPORTED for verdict in _VERDICTS)
    yield f"{outcome['cpu_us_per_record']:.1f}"
