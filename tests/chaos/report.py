"""The matrix and the recovery times, for the terminal and as a page of the documentation."""

from collections.abc import Sequence
from statistics import median

from rich.box import SIMPLE_HEAD
from rich.table import Table

from tests.chaos.faults import FAULTS, Fault
from tests.chaos.play import Outcome, Strike
from tests.chaos.points import POINTS, Point

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
played alone, on a topic and a warehouse of its own.

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
two columns at a time: compare them with each other, not with yours.

{recovery}

## How to read it, and how to repeat it

- A row is a point, a column a fault. A cell that failed says how to play it alone, and keeps its folder: the words of
  every life of the service, its tables, and the producer's truth.
- `make chaos ARGS="--points in-commit --faults lie kill"` plays some cells. `--minute 5` makes long faults short,
  `--jobs` says how many columns are played at a time, `--seed` repeats the same events.
- A test plays some of the cells each time, so that every row and every column is among them.
"""


def as_table(outcomes: Sequence[Outcome]) -> Table:
    """The matrix for a terminal."""
    points, faults = _of(POINTS, outcomes), _of_faults(outcomes)
    heads = (fault.name.replace("-", "\n") for fault in faults)
    table = Table("point", *heads, title="Faults by points: seconds to the next commit", box=SIMPLE_HEAD)
    for point in points:
        table.add_row(point.name, *(_shown(outcomes, point, fault) for fault in faults))
    return table


def as_page(outcomes: Sequence[Outcome]) -> str:
    """The page `docs/faults.md`."""
    failed = [outcome for outcome in outcomes if outcome.error]
    return _PAGE.format(
        points=_list([(point.name, point.says) for point in POINTS]),
        faults=_list([(fault.name, fault.says) for fault in FAULTS]),
        failed=f"{len(outcomes) - len(failed)} of {len(outcomes)} cells are well.",
        matrix=_rows(
            ["", *(fault.name for fault in FAULTS)],
            [[point.name, *(_mark(outcomes, point, fault) for fault in FAULTS)] for point in POINTS],
        ),
        recovery=_rows(["fault", "median", "worst"], [_recovery(outcomes, fault) for fault in FAULTS]),
    )


def _recovery(outcomes: Sequence[Outcome], fault: Fault) -> list[str]:
    seconds = [second for one in outcomes if _cell(one).fault == fault for second in one.recoveries_s]
    return [fault.name, *(f"{figure:.1f} s" for figure in (median(seconds), max(seconds)))] if seconds else []


def _mark(outcomes: Sequence[Outcome], point: Point, fault: Fault) -> str:
    found = _find(outcomes, point, fault)
    return "" if found is None else "**failed**" if found.error else "well"


def _shown(outcomes: Sequence[Outcome], point: Point, fault: Fault) -> str:
    found = _find(outcomes, point, fault)
    if found is None:
        return ""
    return "[red]failed[/red]" if found.error else f"{found.recoveries_s[0]:.1f}"


def _find(outcomes: Sequence[Outcome], point: Point, fault: Fault) -> Outcome | None:
    return next((one for one in outcomes if _cell(one).point == point and _cell(one).fault == fault), None)


def _cell(outcome: Outcome) -> Strike:
    """In the matrix each has a play of its own."""
    (only,) = outcome.play.strikes
    return only


def _of(points: Sequence[Point], outcomes: Sequence[Outcome]) -> list[Point]:
    return [point for point in points if any(_cell(one).point == point for one in outcomes)]


def _of_faults(outcomes: Sequence[Outcome]) -> list[Fault]:
    return [fault for fault in FAULTS if any(_cell(one).fault == fault for one in outcomes)]


def _list(pairs: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"- `{name}`: {says}" for name, says in pairs)


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines if line)
