"""Goes through the plans of scenes: enumerates them, leaves out those that must end as another one did, and plays."""

import math
import time
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from itertools import takewhile
from random import Random
from typing import Final

from tests.simulation.play import Plan, Run, play
from tests.simulation.scenes import SCENES
from tests.simulation.writers import Fault, Point

KINDS: Final = (*(fault.value for fault in Fault), "two")
"""The kinds of plans, in the order of the page."""
PAIRS: Final = "pairs"
"""Plans with two switches between any two writers: there are thousands in a scene, so seeds choose some."""
_AFTER_ALL: Final = 10**4
"""A point that no writer reaches: it runs to its end before the others."""
_MOST_LANDINGS: Final = 40


@dataclass(slots=True)
class Tally:
    """The results of the plans of one kind in one scene."""

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


@dataclass(frozen=True, slots=True)
class Search:
    """The plans of one kind in one scene."""

    scene: str
    kind: str
    seeds: range = range(0)
    """The seeds of random plans, and of those with two switches."""
    every: int = 1
    """The search takes one point in `every`; 1 for a complete search."""
    until: float = math.inf
    """When no other random plan starts, in Unix seconds."""

    def run(self) -> Tally:
        """Plays all of them."""
        tally, began = Tally(self.scene, self.kind), time.monotonic()
        if self.kind != "two" or SCENES[self.scene].threads:
            for run in self._runs(tally):
                tally.take(run)
        tally.seconds = time.monotonic() - began
        return tally

    def _runs(self, tally: Tally) -> Iterator[Run]:
        if self.kind == "seed":
            for seed in takewhile(lambda _: time.time() < self.until, self.seeds):
                tally.plans += 1
                yield self._play(seed)
            return
        whole = self._play(_AFTER_ALL, kind=Fault.NONE)
        if self.kind == PAIRS:
            yield from self._two_switches(whole, tally)
            return
        points = whole.first
        tally.points = len(points)
        if self.kind == Fault.NONE:
            tally.plans = len(points) + 1
            yield from self._switches(points)
            yield whole
        elif self.kind == "two":
            yield from self._double_switches(len(points), tally)
        elif self.kind == Fault.LATE:
            yield from self._landings(points, tally)
        else:
            tally.plans = len(points if self.kind in (Fault.REFUSED, Fault.ENDS) else self._struck(points))
            yield from map(self._play, self._struck(points))

    def _play(self, at: int, more: int = 0, kind: str = "") -> Run:
        return play(Plan(self.scene, kind or self.kind, at, more))

    def _struck(self, points: Sequence[Point]) -> Sequence[int]:
        """Where a fault is of its own: a process that ends before a read ends as before the next write."""
        return [at for at, point in enumerate(points) if point.writes or self.kind == Fault.REFUSED][:: self.every]

    def _switches(self, points: Sequence[Point]) -> Iterator[Run]:
        """One switch before each point, except after a read of what the others did not write: that changes nothing."""
        is_same, written = False, set[str]()
        for at, point in enumerate(points):
            if at % self.every == 0 and not is_same:
                run = self._play(at)
                yield run
                written = _written_by_others(run)
            is_same = self.every == 1 and not point.writes and point.table not in written

    def _double_switches(self, points: int, tally: Tally) -> Iterator[Run]:
        """A switch before each point, and one back before each point of the second writer."""
        for at in range(0, points, self.every):
            most = len(self._play(at, kind=Fault.NONE).second)
            tally.plans += most
            yield from (self._play(at, more) for more in range(1, most))

    def _two_switches(self, whole: Run, tally: Tally) -> Iterator[Run]:
        """A switch to the second writer and one back, both by chance, after points that may matter to the other."""
        by_first = {point.table for point in whole.first if point.writes}
        firsts, seconds = after(whole.first, _written_by_others(whole)), after(whole.second, by_first)[1:]
        tally.points = len(whole.first)
        for seed in takewhile(lambda _: time.time() < self.until, self.seeds if seconds else ()):
            tally.plans += 1
            chance = Random(f"{self.scene} {seed}")
            yield self._play(chance.choice(firsts), chance.choice(seconds), kind="two")

    def _landings(self, points: Sequence[Point], tally: Tally) -> Iterator[Run]:
        """Each commit is reported as failed, and lands before each later call while its version is free."""
        for at in self._struck(points):
            for wait in range(_MOST_LANDINGS):
                run = self._play(at, wait)
                tally.plans += 1
                yield run
                if not run.landed:
                    break


def after(points: Sequence[Point], written: Container[str]) -> list[int]:
    """Where a switch is of its own: not after a read of what the other writer does not write."""
    return [
        at for at, before in enumerate((None, *points[:-1])) if not before or before.writes or before.table in written
    ]


def _written_by_others(run: Run) -> set[str]:
    """The tables that the others wrote; files are taken from below a query only where they are vacuumed."""
    points = [step.point for step in run.trace if step.writer != run.first_name and step.point.writes]
    vacuums = any(point.operation == "vacuum" for point in points)
    return {point.table for point in points} | ({"tables"} if vacuums else set())


def plans_of(scene: str, kind: str) -> list[Plan]:
    """All plans of a kind: one for each point, and for a fault for each point that writes; some landings of each.

    The two switches of a plan come before writes of tables that both writers write.
    """
    points = play(Plan(scene, Fault.NONE, _AFTER_ALL)).first
    if kind == "two":
        return [*_before_writes(scene, points)]
    chosen = [at for at, point in enumerate(points) if point.writes or kind == Fault.NONE]
    return [Plan(scene, kind, at, more) for at in chosen for more in range(4 if kind == Fault.LATE else 1)]


def _before_writes(scene: str, points: Sequence[Point]) -> Iterator[Plan]:
    for at in (at for at, point in enumerate(points) if point.operation == "write"):
        second = play(Plan(scene, Fault.NONE, at)).second
        for more, point in enumerate(second):
            if point.operation == "write" and point.table == points[at].table:
                yield Plan(scene, "two", at, more)


def scenes_like(patterns: Iterable[str]) -> list[str]:
    """The scenes whose names match any of some patterns; all scenes without a pattern."""
    wanted = [*patterns]
    return [name for name in SCENES if not wanted or any(fnmatch(name, pattern) for pattern in wanted)]
