"""The parts of `make nightly`.

They run in this order. Parts with `is_beside` start first and run at the same time as the others. Parts with a budget
are last and share the time that is left.
"""

import os
import sys
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from tests.simulation.scenes import SCENES


class Source(Enum):
    """Where the number of things that ran, and the failures, are read from."""

    SUMMARY = auto()
    """The file that the command writes (`tests/support/summary.py`)."""
    PYTEST = auto()
    """The part's log, with what pytest prints."""


@dataclass(frozen=True)
class Part:
    """A command that takes long, as a process of its own."""

    name: str
    command: tuple[str, ...]
    counts: str
    """The noun for the things that it runs."""
    weight: float = 0
    """Its share, relative to others, of the time that is left by the parts that end by themselves."""
    budget: tuple[str, ...] = ()
    """Arguments by which the command takes a budget of `{minutes}`; empty if it ends by itself."""
    source: Source = Source.SUMMARY
    is_beside: bool = False
    """Whether it runs at the same time as the other parts, because it uses little of the processor."""
    again: str = ""
    """The command that repeats a failure `{name}`, for a command that reports only names."""

    def arguments(self, share_minutes: float) -> tuple[str, ...]:
        """Returns the command with its budget, which leaves a part of its share for the start and for the last round.

        >>> Part("soak", ("soak",), "minutes", 60, budget=("--minutes", "{minutes:.1f}")).arguments(60)
        ('soak', '--minutes', '48.0')
        """
        return (*self.command, *(word.format(minutes=_USED * share_minutes) for word in self.budget))


_USED: Final = 0.8
_MOST: Final = 0.7
_PYTHON: Final = (sys.executable, "-m")
_WORKERS: Final = str(2 * (os.cpu_count() or 1))
_PYTEST: Final = (*_PYTHON, "pytest", "-v", "-rfE", "--tb=short", "-n", _WORKERS, "--dist", "loadfile")
_ONE_TEST: Final = ".venv/bin/python -m pytest -n 0 '{name}'"
_AT_MOST: Final = ("--at-most", "{minutes:.1f}")
_OF_SCENES: Final = f"of {len(SCENES)} scenes"
_MINUTES: Final = ("--minutes", "{minutes:.1f}")
PARTS: Final = (
    Part("hour", (*_PYTHON, "tests.crash.alert_hour"), "faults under the shipped monitoring", is_beside=True),
    Part("pythons", ("make", "test-pythons"), "fast tests", source=Source.PYTEST, again="make test-pythons"),
    Part(
        "sparks", ("make", "test-spark"), "tests with the newest PySpark", source=Source.PYTEST, again="make test-spark"
    ),
    Part("records", (*_PYTEST, "tests/fuzz"), "tests with mutated records", source=Source.PYTEST, again=_ONE_TEST),
    Part(
        "tests",
        ("make", "coverage-all", "ARGS=-v -rfE --tb=short"),
        "all other tests, with their branch coverage",
        source=Source.PYTEST,
        again=_ONE_TEST,
    ),
    Part("protections", (*_PYTHON, "tests.simulation", "--mutations"), "protections that were removed"),
    Part("mutants", (*_PYTHON, "tests.mutants"), "mutants", 60, _AT_MOST),
    Part("plans", (*_PYTHON, "tests.simulation", "--page"), f"plans {_OF_SCENES}", 100, _AT_MOST),
    Part("seeds", (*_PYTHON, "tests.simulation"), f"random plans {_OF_SCENES}", 30, _MINUTES),
    Part(
        "switches",
        (*_PYTHON, "tests.simulation", "--kinds", "pairs"),
        f"plans {_OF_SCENES} with two switches",
        30,
        _MINUTES,
    ),
    Part("lives", (*_PYTHON, "tests.simulation", "--lives"), "random lives of services", 30, _MINUTES),
    Part("soak", (*_PYTHON, "tests.chaos.soak"), "lives of a service", 60, _MINUTES),
    Part("chaos", (*_PYTHON, "tests.chaos"), "cells of the matrix of faults", 80, _MINUTES),
)


def chosen(names: str, parts: tuple[Part, ...] = PARTS) -> list[Part]:
    """Returns the parts of a list of names with commas, in the order of `parts`; all for an empty list."""
    wanted = [name for name in names.split(",") if name]
    if unknown := set(wanted) - {part.name for part in parts}:
        known = ", ".join(part.name for part in parts)
        raise ValueError(f"unknown parts: {', '.join(sorted(unknown))}; the parts are {known}")
    return [part for part in parts if part.name in wanted or not wanted]


def share_minutes(part: Part, later: list[Part], minutes_left: float) -> float:
    """Returns how long `part` may take: what it leaves, the parts after it share.

    A part without a budget is whole or worth nothing, so it may take most of the time that is left. The last one, and
    one beside the others, may take all.

    >>> share_minutes(Part("a", (), "", weight=20, budget=("{minutes}",)), [Part("b", (), "", weight=60)], 40)
    10.0
    >>> share_minutes(Part("a", (), ""), [Part("b", (), "", weight=60)], 40)
    28.0
    >>> share_minutes(Part("a", (), ""), [], 40)
    40
    """
    if not part.budget:
        return minutes_left * _MOST if later and not part.is_beside else minutes_left
    return minutes_left * part.weight / (part.weight + sum(other.weight for other in later))
