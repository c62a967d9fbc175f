"""The service and who watches it: a process that ended is started again, as a supervisor would."""

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.rules import Faults, Rule
from tests.support.against_truth import ledger_version
from tests.support.processes import SMALL_DRIVER, Process, tidemark
from tests.support.waiting import wait_for

PATIENCE_S = 600
FAILED = 1
POINT = "point"
"""The rule under which a process comes to the point where a fault strikes."""
MOST_LIVES = 30


@dataclass(frozen=True)
class Command:
    """A command of Tidemark as a process, and its file of rules."""

    process: Process
    faults: Faults

    @property
    def ended(self) -> int | None:
        """How it ended; None while it runs."""
        return self.process.popen.poll()

    def go(self) -> None:
        """Lets it go on from the point where it is held."""
        self.faults.go(POINT)

    def java(self) -> int:
        """The process id of its JVM."""
        session = self.process.popen.pid
        return wait_for(lambda: next(iter(processes_of(session, "java")), None), PATIENCE_S, "a JVM of the command")


@dataclass
class Lives:
    """The service on one warehouse, life after life."""

    folder: Path
    options: Sequence[str]
    environment: Mapping[str, str]
    stack: ExitStack
    lives: list[Command] = field(default_factory=list)
    outage: Rule | None = None
    """A life that begins now meets it."""
    producers: Sequence[Process] = ()
    """Without them nothing is left to commit: one that fails ends every wait."""

    @property
    def warehouse(self) -> Path:
        """Where its tables are."""
        return self.folder / "warehouse"

    @property
    def now(self) -> Command:
        """The life that counts."""
        return self.lives[-1]

    def start(self, rules: Sequence[Rule] = ()) -> Command:
        """Starts a new life, which replaces the current life."""
        assert len(self.lives) < MOST_LIVES, "it ends again and again"
        self.lives.append(self.command(f"life-{len(self.lives) + 1}", "run", rules=[*rules, *self._outage()]))
        return self.now

    def command(self, name: str, verb: str, *, rules: Sequence[Rule] = ()) -> Command:
        """A command on the warehouse, with the settings of the service."""
        faults = Faults(self.folder / f"{name}.faults", self.warehouse)
        faults.set(rules)
        environment = {**SMALL_DRIVER, **self.environment, **faults.environment}
        arguments = (verb, *self.options, "--warehouse", str(self.warehouse))
        process = self.stack.enter_context(tidemark(self.folder / f"{name}.log", *arguments, driver=environment))
        return Command(process, faults)

    def tend(self) -> None:
        """Starts the service again if it failed or was killed. Any other end fails the test, as does a producer's."""
        for producer in self.producers:
            assert not producer.popen.poll(), f"a producer failed: {last_words(producer)}"
        code = self.now.ended
        if code is None:
            return
        assert code < 0 or code == FAILED, f"it ended with exit code {code}: {last_words(self.now.process)}"
        self.start()

    def wait_for(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        """Returns when the condition holds, tending the service meanwhile."""

        def holds() -> bool:
            self.tend()
            return condition()

        try:
            wait_for(holds, seconds, what)
        except AssertionError as error:
            said = last_words(self.now.process)
            raise AssertionError(
                f"{error}; life {len(self.lives)}, with exit code {self.now.ended}, said: {said}"
            ) from None

    def let_pass(self, seconds: float) -> None:
        """So much time passes, and the service is tended meanwhile."""
        until = time.monotonic() + seconds
        self.wait_for(lambda: time.monotonic() >= until, seconds + PATIENCE_S, "the passing of time")

    def await_commits(self, count: int, seconds: float) -> None:
        """Returns when the ledger has grown by this number of commits."""
        goal = ledger_version(self.warehouse) + count
        self.wait_for(lambda: ledger_version(self.warehouse) >= goal, seconds, f"commit {goal}")

    def stop(self, seconds: float) -> None:
        """The end in good order."""
        self.now.process.send(signal.SIGTERM)
        code = self.now.process.wait(seconds)
        assert code == 0, f"SIGTERM ended it with exit code {code}: {last_words(self.now.process)}"

    def _outage(self) -> list[Rule]:
        return [self.outage] if self.outage else []


def last_words(process: Process) -> str:
    """The end of what a process said."""
    return process.said[-1500:].strip()


def processes_of(session: int, program: str) -> list[int]:
    """The ids of the processes of a session that run a program; Java has a group of its own."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
            name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
        except OSError:  # it has ended meanwhile
            continue
        if name == program and int(rest[3]) == session:
            found.append(int(stat.parent.name))
    return sorted(found)
