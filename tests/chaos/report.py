"""Prints the matrix and the recovery times to the terminal and as a page of the documentation.

The matrix takes more than an hour, so it is kept a column at a time: `kept.json` has each fault's last column.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from statistics import median

from rich.box import SIMPLE_HEAD
from rich.table import Table

from tests.chaos.faults import FAULTS
from tests.chaos.play import Outcome
from tests.chaos.points import POINTS
from tests.support import evidence
from tests.support.evidence import Run

KEPT = Path(__file__).with_name("kept.json")
PAGE = Path(__file__).parents[2] / "docs" / "faults.md"


@dataclass
class Column:
    """The outcome of a fault by the name of the point."""

    fault: str
    commit: str
    """The commit of the code that was played."""
    date: str
    """The day on which it was played."""
    minute: float
    """Seconds that a fault lasts that lasts a minute."""
    recovery_s: dict[str, float | None] = field(default_factory=dict)
    """Until the next commit; None where it did not end well."""

    @property
    def run(self) -> Run:
        return Run(self.date, self.commit)


Columns = Mapping[str, Column]

_PAGE = """\
# Injected faults

`make chaos` starts the real `tidemark run` on a real broker, with a stream that has late, future and unreadable
records, and injects each fault of the list below at every point of a batch. A column of the matrix is one fault,
injected at all points one after the other on one topic and one warehouse. A point is a call by which a process
accesses a file of the warehouse: a library that is loaded before the C library holds the process at this call,
refuses the call, or executes it and reports a failure. Nothing of Tidemark is patched. A process that failed or was
killed is restarted, as by a supervisor.

A cell is `well` if the service resumed commits by itself and, at the end of its column, had read the topic to its end
and stopped in good order; if every invariant holds for its tables; and if they contain, user by user and window by
window, exactly what the producer sent. If a column does not end so, each of its cells is repeated alone, on its own
topic and warehouse; the cell at which it failed counts as failed all the same.

## The points

{points}

## The faults

{faults}

## The matrix

{failed}

{matrix}

## How long until the next commit

The time from the fault to the next commit of new work in the ledger: neither the batch in progress counts, nor the row
that opens an epoch. For a lasting fault it is the time from its start to the first such commit after its end. A process
that must restart needs most of this time to start Spark. The figures are from a machine with two cores that ran one or
two columns at a time: compare them with each other, not with yours.

{recovery}

## Reading and repeating

- A row is a point, a column a fault. A failed cell prints how to run it alone, and keeps its folder: the logs of every
  process of the service, its tables, and the record of what the producer sent.
- `make chaos ARGS="--points in-commit --faults lie kill"` runs some cells. `--minute 5` shortens long faults, `--jobs`
  is the number of concurrent columns, `--seed` repeats the same events.
- CI runs cells that a seed draws. Each night runs a sample that covers every row and every column.
"""


def columns_of(outcomes: Iterable[Outcome], run: Run) -> Columns:
    """The columns that these cells, each a play of one strike, are of."""
    columns: dict[str, Column] = {}
    for outcome in outcomes:
        (strike,) = outcome.play.strikes
        fault = strike.fault.name
        column = columns.setdefault(fault, Column(fault, run.commit, run.date, outcome.play.minute))
        column.recovery_s[strike.point.name] = None if outcome.error else round(outcome.recoveries_s[0], 1)
    return columns


def kept_columns() -> Columns:
    """Each fault's last column."""
    return {column["fault"]: Column(**column) for column in json.loads(KEPT.read_text())} if KEPT.exists() else {}


def keep(columns: Columns) -> None:
    """Keeps those that are whole, instead of the ones before; and the page, where there is one of each fault."""
    whole = {name: column for name, column in columns.items() if len(column.recovery_s) == len(POINTS)}
    kept = {**kept_columns(), **whole}
    ordered = [kept[fault.name] for fault in FAULTS if fault.name in kept]
    KEPT.write_text(json.dumps([asdict(column) for column in ordered], indent=1) + "\n")
    if len(ordered) == len(FAULTS):
        evidence.write(PAGE, as_page(kept))


def as_table(columns: Columns) -> Table:
    """The matrix for a terminal."""
    faults = [fault.name for fault in FAULTS if fault.name in columns]
    heads = (name.replace("-", "\n") for name in faults)
    table = Table("point", *heads, title="Faults by points: seconds to the next commit", box=SIMPLE_HEAD)
    for point in POINTS:
        table.add_row(point.name, *(_cell_text(columns[name], point.name) for name in faults))
    return table


def as_page(columns: Columns) -> str:
    """The page `docs/faults.md`, of a column of each fault."""
    cells = [recovery for column in columns.values() for recovery in column.recovery_s.values()]
    ordered = [columns[fault.name] for fault in FAULTS]
    return _PAGE.format(
        points=_list([(point.name, point.says) for point in POINTS]),
        faults=_list([(fault.name, fault.says) for fault in FAULTS]),
        failed=f"{len(cells) - cells.count(None)} of {len(cells)} cells are well. {_played(ordered)}",
        matrix=_rows(
            ["", *(column.fault for column in ordered)],
            [[point.name, *(_mark(column, point.name) for column in ordered)] for point in POINTS],
        ),
        recovery=_rows(["fault", "median", "worst"], [_recovery(column) for column in ordered]),
    )


def _played(columns: Sequence[Column]) -> str:
    """At which commits and on which days, and how long what lasts a minute lasted."""
    played = sorted(columns, key=_how)
    lines = (
        f"- {run}, with a minute of {minute:g} s: {', '.join(column.fault for column in of)}"
        for (run, minute), of in groupby(played, _how)
    )
    return "\n".join(["The columns were run at", *lines])


def _how(column: Column) -> tuple[Run, float]:
    return column.run, column.minute


def _recovery(column: Column) -> list[str]:
    seconds = [second for second in column.recovery_s.values() if second is not None]
    return [column.fault, *(f"{figure:.1f} s" for figure in (median(seconds), max(seconds)))] if seconds else []


def _mark(column: Column, point: str) -> str:
    return "**failed**" if column.recovery_s[point] is None else "well"


def _cell_text(column: Column, point: str) -> str:
    recovery = column.recovery_s.get(point, 0)
    return "[red]failed[/red]" if recovery is None else f"{recovery:.1f}" if recovery else ""


def _list(pairs: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"- `{name}`: {says}" for name, says in pairs)


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines if line)
