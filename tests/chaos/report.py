"""The matrix and the recovery times, for the terminal and as a page of the documentation.

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

KEPT = Path(__file__).with_name("kept.json")
PAGE = Path(__file__).parents[2] / "docs" / "faults.md"


@dataclass
class Column:
    """What became of a fault, by the name of the point."""

    fault: str
    commit: str
    """Of the code that was played."""
    minute: float
    """Seconds that a fault lasts that lasts a minute."""
    recovery_s: dict[str, float | None] = field(default_factory=dict)
    """Until the next commit; None where it did not end well."""


Columns = Mapping[str, Column]

_PAGE = """\
# What was done to it, and what became of it

`make chaos` starts the real `tidemark run` on a real broker and on a stream with late, future and unreadable records,
and does to it, at every point of a batch, everything of the list below. A column of the matrix is one fault, done at
all points one after the other on one topic and one warehouse. A point is a call with which a process touches a file
below the warehouse: a library that is loaded before the C library's holds the process there, or refuses the call, or
does it and denies it. Nothing of Tidemark is patched. A process that failed or was killed is started again, as a
supervisor would do it.

A cell is well when the service went on to commit by itself and, at the end of its column, had read the topic to its end
and stopped in good order; when every conservation law holds over its tables; and when they show, user by user and
window by window, exactly what the producer knows that it sent. Where a column does not end so, each of its cells is
played alone, on a topic and a warehouse of its own; the one that it failed at counts as failed all the same.

## The points

{points}

## The faults

{faults}

## The matrix

{failed}

{matrix}

## How long until the next commit

From the fault to the next commit of new work in the ledger: the batch that was in hand does not count, nor does the
row that opens an epoch. Of a fault that lasts it is the time from its begin to the first such commit after its end. A
process that must start again needs most of it to start Spark. The figures are of a machine with two cores that played
one or two columns at a time: compare them with each other, not with yours.

{recovery}

## How to read it, and how to repeat it

- A row is a point, a column a fault. A cell that failed says how to play it alone, and keeps its folder: the words of
  every life of the service, its tables, and the producer's truth.
- `make chaos ARGS="--points in-commit --faults lie kill"` plays some cells. `--minute 5` makes long faults short,
  `--jobs` says how many columns are played at a time, `--seed` repeats the same events.
- A test plays some of the cells each time, so that every row and every column is among them.
"""


def columns_of(outcomes: Iterable[Outcome], commit: str) -> Columns:
    """The columns that these cells, each a play of one strike, are of."""
    columns: dict[str, Column] = {}
    for outcome in outcomes:
        (strike,) = outcome.play.strikes
        column = columns.setdefault(strike.fault.name, Column(strike.fault.name, commit, outcome.play.minute))
        column.recovery_s[strike.point.name] = None if outcome.error else round(outcome.recoveries_s[0], 1)
    return columns


def kept_columns() -> Columns:
    """Each fault's last column."""
    return {told["fault"]: Column(**told) for told in json.loads(KEPT.read_text())} if KEPT.exists() else {}


def keep(columns: Columns) -> None:
    """Keeps those that are whole, instead of the ones before; and the page, where there is one of each fault."""
    whole = {name: column for name, column in columns.items() if len(column.recovery_s) == len(POINTS)}
    kept = {**kept_columns(), **whole}
    ordered = [kept[fault.name] for fault in FAULTS if fault.name in kept]
    KEPT.write_text(json.dumps([asdict(column) for column in ordered], indent=1) + "\n")
    if len(ordered) == len(FAULTS):
        PAGE.write_text(as_page(kept))


def as_table(columns: Columns) -> Table:
    """The matrix for a terminal."""
    faults = [fault.name for fault in FAULTS if fault.name in columns]
    heads = (name.replace("-", "\n") for name in faults)
    table = Table("point", *heads, title="Faults by points: seconds to the next commit", box=SIMPLE_HEAD)
    for point in POINTS:
        table.add_row(point.name, *(_shown(columns[name], point.name) for name in faults))
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
    """At which commits, and how long what lasts a minute lasted."""
    played = sorted(columns, key=_how)
    lines = (
        f"- commit {commit}, where a minute was {minute:g} s: {', '.join(column.fault for column in of)}"
        for (commit, minute), of in groupby(played, _how)
    )
    return "\n".join(["The columns were played at", *lines])


def _how(column: Column) -> tuple[str, float]:
    return column.commit, column.minute


def _recovery(column: Column) -> list[str]:
    seconds = [second for second in column.recovery_s.values() if second is not None]
    return [column.fault, *(f"{figure:.1f} s" for figure in (median(seconds), max(seconds)))] if seconds else []


def _mark(column: Column, point: str) -> str:
    return "**failed**" if column.recovery_s[point] is None else "well"


def _shown(column: Column, point: str) -> str:
    recovery = column.recovery_s.get(point, 0)
    return "[red]failed[/red]" if recovery is None else f"{recovery:.1f}" if recovery else ""


def _list(pairs: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"- `{name}`: {says}" for name, says in pairs)


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines if line)
