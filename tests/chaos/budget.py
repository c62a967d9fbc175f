"""Chooses the columns of the matrix that fit into a budget of time, those that were played longest ago first."""

from collections.abc import Iterable
from typing import Final

from tests.chaos.faults import Fault
from tests.chaos.points import POINTS
from tests.chaos.report import Column, Columns

_APPROACH_S: Final = 60
"""From one point of a column to the next, in addition to the recovery."""
_LONGEST_RECOVERY_S: Final = 120


def affordable(faults: Iterable[Fault], columns: Columns, minutes: float, jobs: int) -> list[Fault]:
    """Returns the faults whose columns fit into `minutes`, `jobs` at a time; the oldest one in any case.

    `columns` has the last column of each fault: its recovery times estimate those of the next.
    """
    free, chosen = [0.0] * jobs, list[Fault]()
    for fault in sorted(faults, key=lambda fault: columns[fault.name].date if fault.name in columns else ""):
        ends = min(free) + expected_s(columns.get(fault.name))
        if ends <= minutes * 60 or not chosen:
            free[free.index(min(free))] = ends
            chosen.append(fault)
    return chosen


def expected_s(column: Column | None) -> float:
    """Returns how long a column may take, by its last recoveries."""
    recoveries = column.recovery_s.values() if column else [None] * len(POINTS)
    return sum((seconds or _LONGEST_RECOVERY_S) + _APPROACH_S for seconds in recoveries)
