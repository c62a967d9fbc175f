"""Goes through the plans of scenes: enumerates them, leaves out those that must end as another one did, and plays."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Final

from tests.simulation.play import Plan, Run, play
from tests.simulation.scenes import SCENES
from tests.simulation.writers import Fault, Point

KINDS: Final = (*(fault.value for fault in Fault), "two")
"""The kinds of plans, in the order of the page."""
_AFTER_ALL: Final = 10**4
"""A point that no writer reaches: it runs to its end before the others."""
_MOST_LANDINGS: Final = 40


@dataclass(slots=True)
class Tally:
    """What came of the plans of one kind in one scene."""

    scene: str
    kind: str
    points: int = 0
    plans: int = 0
    runs: int = 0
    states: int = 0
    seconds: float = 0.0
    failures: list[tuple[str, list[str]]] = field(default_factory=list)
    """The id of each failing plan, and what is wrong."""

    def take(self, run: Run) -> None:
        """Adds a run."""
        self.runs += 1
        self.states += run.is_new
        if run.findings:
            self.failures.append((str(run.plan), run.findings))


def search(scene: str, kind: str, *, seeds: range = range(0), stop_at: int = 10**9) -> Tally:
    """Plays all plans of a kind in a scene, until there are so many failures."""
    tally, began = Tally(scene, kind), time.monotonic()
    if kind != "two" or SCENES[scene].threads:
        for run in _runs(scene, kind, tally, seeds):
            tally.take(run)
            if len(tally.failures) >= stop_at:
                break
    tally.seconds = time.monotonic() - began
    return tally


def _runs(scene: str, kind: str, tally: Tally, seeds: range) -> Iterator[Run]:
    if kind == "seed":
        tally.plans = len(seeds)
        yield from (play(Plan(scene, kind, seed)) for seed in seeds)
        return
    whole = play(Plan(scene, Fault.NONE, _AFTER_ALL))
    points = whole.first
    tally.points = len(points)
    if kind == Fault.NONE:
        tally.plans = len(points) + 1
        yield from _switches(scene, points)
        yield whole
    elif kind == "two":
        yield from _double_switches(scene, points, tally)
    elif kind == Fault.LATE:
        yield from _landings(scene, points, tally)
    else:
        chosen = [*_struck(kind, points)]
        tally.plans = len(points) if kind == Fault.ENDS else len(chosen)
        yield from (play(Plan(scene, kind, at)) for at in chosen)


def _struck(kind: str, points: list[Point]) -> Iterable[int]:
    """Where a fault is of its own: a process that ends before a read ends as before the next write."""
    if kind == Fault.REFUSED:
        return range(len(points))
    return [at for at, point in enumerate(points) if point.writes]


def _switches(scene: str, points: list[Point]) -> Iterator[Run]:
    """One switch before each point; none after a read of what the others did not write, for it changes nothing."""
    is_same, written = False, set[str]()
    for at, point in enumerate(points):
        if not is_same:
            run = play(Plan(scene, Fault.NONE, at))
            yield run
            written = _written_by_others(run)
        is_same = not point.writes and point.table not in written


def _written_by_others(run: Run) -> set[str]:
    """The tables that the others wrote; files are taken from below a query only where they are vacuumed."""
    points = [step.point for step in run.trace if step.writer != run.first_name and step.point.writes]
    vacuums = any(point.operation == "vacuum" for point in points)
    return {point.table for point in points} | ({"tables"} if vacuums else set())


def _double_switches(scene: str, points: list[Point], tally: Tally) -> Iterator[Run]:
    """A switch before each point, and one back before each point of the second writer."""
    for at in range(len(points)):
        most = play(Plan(scene, Fault.NONE, at)).second
        tally.plans += most
        for more in range(1, most):
            yield play(Plan(scene, "two", at, more))


def _landings(scene: str, points: list[Point], tally: Tally) -> Iterator[Run]:
    """Each commit is reported as failed, and lands before each later call on its table while its version is free."""
    for at in _struck(Fault.LATE, points):
        for wait in range(_MOST_LANDINGS):
            run = play(Plan(scene, Fault.LATE, at, wait))
            tally.plans += 1
            yield run
            if not run.landed:
                break


def plans_of(scene: str, kind: str) -> list[Plan]:
    """All plans of a kind: one for each point, and for a fault for each point that writes; some landings of each."""
    points = play(Plan(scene, Fault.NONE, _AFTER_ALL)).first
    chosen = [at for at, point in enumerate(points) if point.writes or kind == Fault.NONE]
    return [Plan(scene, kind, at, more) for at in chosen for more in range(4 if kind == Fault.LATE else 1)]


def scenes_like(patterns: Iterable[str]) -> list[str]:
    """The scenes whose names match any of some patterns; all, if there is none."""
    wanted = [*patterns]
    return [name for name in SCENES if not wanted or any(fnmatch(name, pattern) for pattern in wanted)]
