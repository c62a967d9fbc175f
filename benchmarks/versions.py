"""Compares two versions: drains, starts and freshness in turn, so that both run under the same conditions."""

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from rich.table import Table

from benchmarks.errors import BenchmarkError
from benchmarks.freshness import part as freshness
from benchmarks.freshness.figures import Figures, Load
from benchmarks.freshness.part import run_command
from benchmarks.process import last_words, run
from benchmarks.report import figures_table
from benchmarks.task import Task
from benchmarks.turn import DONE
from benchmarks.verify import committed_at
from demo.die_with_parent import dying_with_parent

HERE: Final = Path(__file__).parent.parent
_TURN: Final = Path(__file__).with_name("turn.py")
_COLD: Final = 3
"""Number of first drains of a process that do not count, because its Java is cold."""
_EVER: Final = ("bootstrap_servers", "topic", "events")
"""Fields of a task in every version."""


class Cost(NamedTuple):
    """The cost of a drain."""

    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Pair:
    """The costs of two drains, one after the other."""

    ours: Cost
    theirs: Cost

    @property
    def rate(self) -> float:
        """Our rate over theirs."""
        return self.theirs.seconds / self.ours.seconds

    @property
    def cpu(self) -> float:
        """Our CPU per event over theirs."""
        return self.ours.cpu_seconds / self.theirs.cpu_seconds


def pairs(other: Path, task: Task, count: int, work: Path) -> Iterator[Pair]:
    """Yields pairs of drains by this checkout and by `other`, a folder that is set up; the order alternates.

    Raises BenchmarkError.
    """
    with ExitStack() as stack:
        ours, theirs = (stack.enter_context(_process(root, work)) for root in (HERE, other))
        for number in range(_COLD + count):
            in_turn = (ours, theirs) if number % 2 else (theirs, ours)
            done = {id(process): process.drain(number, task) for process in in_turn}
            if number >= _COLD:
                yield Pair(done[id(ours)], done[id(theirs)])


def starts(other: Path, task: Task, count: int, work: Path) -> Iterator[tuple[float, float]]:
    """Yields seconds from a process of `tidemark run` to its first committed batch, ours and theirs.

    The first pair does not count. Raises BenchmarkError.
    """
    for number in range(1 + count):
        done = {root: _start(root, task, work / f"start-{number}-{root.name}") for root in _in_turn(other, number)}
        if number:
            yield done[HERE], done[other]


def _start(root: Path, task: Task, work: Path) -> float:
    work.mkdir(parents=True)
    warehouse, began = str(work / "warehouse"), time.time()
    run([*run_command(task, warehouse), "--until-caught-up"], work / "log", _program(root))
    return committed_at(warehouse)[0] - began


def ages(other: Path, load: Load, count: int, work: Path) -> Iterator[tuple[Figures, Figures]]:
    """Yields the freshness of ours and theirs under the same load. Raises BenchmarkError."""
    for number in range(count):
        done = {
            root: freshness.measure(load, work / f"freshness-{number}-{root.name}", _program(root))
            for root in _in_turn(other, number)
        }
        yield done[HERE], done[other]


def _in_turn(other: Path, number: int) -> tuple[Path, Path]:
    return (HERE, other) if number % 2 else (other, HERE)


def _program(root: Path) -> list[str]:
    return [str(root.absolute() / ".venv" / "bin" / "tidemark")]


def times(found: Sequence[tuple[float, ...]]) -> dict[str, Any]:
    """Returns the median ratio of their seconds to ours (higher is better for us), and all pairs."""
    return {"ratio": median(theirs / ours for ours, theirs in found), "pairs": found}


def times_table(title: str, found: Sequence[tuple[float, ...]]) -> Table:
    """Returns a table with a row for each pair, and the median."""
    rows = [
        [str(number), f"{ours:.2f}", f"{theirs:.2f}", f"{theirs / ours:.3f}"]
        for number, (ours, theirs) in enumerate(found, 1)
    ]
    rows.append(["median", "", "", f"{times(found)['ratio']:.3f}"])
    return figures_table(title, ["pair", "this version, s", "other version, s", "other / this"], rows)


def figures(found: Sequence[Pair]) -> dict[str, Any]:
    """Returns the medians of the ratios of each pair, and all pairs."""
    return {
        "rate": median(pair.rate for pair in found),
        "cpu_per_event": median(pair.cpu for pair in found),
        "pairs": [asdict(pair) for pair in found],
    }


def render(found: Sequence[Pair], other: Path, events: int) -> Table:
    """Returns a table with a row for each pair, and the medians."""
    rows = [_row(str(number), pair.rate, pair.cpu) for number, pair in enumerate(found, 1)]
    medians = figures(found)
    rows.append(_row("median", medians["rate"], medians["cpu_per_event"]))
    title = f"{events:,} events: this version relative to {other}"
    return figures_table(title, ["pair", "rate", "CPU per event"], rows)


def _row(name: str, rate: float, cpu: float) -> list[str]:
    return [name, f"{rate:.3f}", f"{cpu:.3f}"]


class _Process:
    """The process of a checkout, which drains on request."""

    def __init__(self, popen: "subprocess.Popen[str]", log: Path, work: Path) -> None:
        self._popen, self._log, self._work = popen, log, work

    def drain(self, number: int, task: Task) -> Cost:
        """Drains into a new warehouse and returns the cost."""
        assert self._popen.stdin is not None  # noqa: S101 - for the type checker
        assert self._popen.stdout is not None  # noqa: S101 - for the type checker
        fields = {"work": str(self._work / f"drain-{number}"), **{name: getattr(task, name) for name in _EVER}}
        self._popen.stdin.write(json.dumps(fields) + "\n")
        self._popen.stdin.flush()
        for line in self._popen.stdout:
            if line.startswith(DONE):
                return Cost(*json.loads(line.removeprefix(DONE)))
        raise BenchmarkError(f"a process ended: {self._popen.wait()}\n{last_words(self._log)}")


@contextmanager
def _process(root: Path, work: Path) -> Iterator[_Process]:
    python = root.absolute() / ".venv" / "bin" / "python"
    if not python.exists():
        raise BenchmarkError(f"{root} is not a checkout that is set up: run `make setup` in it first")
    own = work / f"version-{root.absolute().name}"
    own.mkdir(parents=True)
    with (own / "log").open("w") as log:
        popen = subprocess.Popen(
            dying_with_parent([str(python), str(_TURN)]),
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        yield _Process(popen, own / "log", own)
    finally:
        popen.kill()
        popen.wait()
