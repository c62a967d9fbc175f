"""Prints the matrix and the recovery times to the terminal and as a section of docs/evidence.md.

The matrix takes more than an hour, so it is kept a column at a time: `kept.json` has each fault's last column.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from statistics import median
from textwrap import wrap

from rich.box import SIMPLE_HEAD
from rich.table import Table

from tests.chaos.faults import FAULTS, Fault
from tests.chaos.play import Outcome
from tests.chaos.points import POINTS
from tests.support import evidence
from tests.support.evidence import Run

KEPT = Path(__file__).with_name("kept.json")
HEADING = "## Injected faults"


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

_SECTION = f"""\
{HEADING}

`make chaos` starts the real `tidemark run` on a real broker, with a stream that has late, future and unreadable
records, and injects each fault at every point of a batch. A point is a call by which a process accesses a file of the
warehouse: a library that is loaded before the C library holds the process at this call, refuses the call, or executes
it and reports a failure. Nothing of Tidemark is patched. A process that failed or was killed is restarted, as by a
supervisor.

A cell is a fault at a point; those of a fault follow one another on one topic and one warehouse. It is well if the
service resumed commits by itself and, in the end, had read the topic to its end and stopped in good order; if every
invariant holds for its tables; and if they contain, user by user and window by window, exactly what the producer sent.
If a fault does not end so, each of its cells is repeated alone; the cell at which it failed counts as failed all the
same.

{{well}} The table has the time from the fault to the next
commit of new work, or from the start of a lasting fault to the first such commit after its end. A process that must
restart needs most of it to start Spark. The machine had two cores and ran one or two faults at a time: compare times
with each other, not with yours.

{{faults}}

The points:

{{points}}

{{runs}}

`make chaos ARGS="--points in-commit --faults lie kill"` runs some cells. A failed cell prints how to run it alone, and
leaves its logs and tables. CI runs some that a seed draws, each night a sample that covers every point and every fault.
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
    """Stores whole columns in place of earlier ones, and writes the section once there is a column of each fault."""
    whole = {name: column for name, column in columns.items() if len(column.recovery_s) == len(POINTS)}
    kept = {**kept_columns(), **whole}
    ordered = [kept[fault.name] for fault in FAULTS if fault.name in kept]
    KEPT.write_text(json.dumps([asdict(column) for column in ordered], indent=1) + "\n")
    if len(ordered) == len(FAULTS):
        evidence.write_section(as_section(kept))


def as_table(columns: Columns) -> Table:
    """The matrix for a terminal."""
    faults = [fault.name for fault in FAULTS if fault.name in columns]
    heads = (name.replace("-", "\n") for name in faults)
    table = Table("point", *heads, title="Faults by points: seconds to the next commit", box=SIMPLE_HEAD)
    for point in POINTS:
        table.add_row(point.name, *(_cell_text(columns[name], point.name) for name in faults))
    return table


def as_section(columns: Columns) -> str:
    """Returns the section of docs/evidence.md from a column of each fault."""
    cells = [recovery for column in columns.values() for recovery in column.recovery_s.values()]
    ordered = [columns[fault.name] for fault in FAULTS]
    return _SECTION.format(
        well=f"**{len(cells) - cells.count(None)} of {len(cells)} cells are well.**",
        faults=_rows(["fault", "", "cells well", "median", "worst"], [*map(_fault_row, FAULTS, ordered)]),
        points=_rows(["point", ""], [[f"`{point.name}`", point.says] for point in POINTS]),
        runs=_played(ordered),
    )


def _played(columns: Sequence[Column]) -> str:
    """Returns at which commits and on which days faults were injected, and how long those of a minute lasted."""
    lines = ["The faults were injected at"]
    for (run, minute), of in groupby(sorted(columns, key=_how), _how):
        line = f"- {run}, with a minute of {minute:g} s: {', '.join(f'`{column.fault}`' for column in of)}"
        lines += wrap(line, 120, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(lines)


def _how(column: Column) -> tuple[Run, float]:
    return column.run, column.minute


def _fault_row(fault: Fault, column: Column) -> list[str]:
    failed = [point for point, second in column.recovery_s.items() if second is None]
    seconds = [second for second in column.recovery_s.values() if second is not None]
    well = f"{len(seconds)} of {len(column.recovery_s)}" + f"; **failed**: {', '.join(failed)}" * bool(failed)
    times = [f"{figure:.1f} s" for figure in (median(seconds), max(seconds))] if seconds else ["", ""]
    return [f"`{fault.name}`", fault.says, well, *times]


def _cell_text(column: Column, point: str) -> str:
    recovery = column.recovery_s.get(point, 0)
    return "[red]failed[/red]" if recovery is None else f"{recovery:.1f}" if recovery else ""


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rows])
