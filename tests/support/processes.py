"""Runs the commands as processes, each in a process group of its own, which a test can kill as a whole."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.measure import children
from demo.die_with_parent import dying_with_parent
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.waiting import PATIENCE_S

SMALL_DRIVER = {"TIDEMARK_SPARK__CONF": json.dumps(BRIEF_DRIVER)}


class Process:
    """A running command, whose output goes to a file. Leaving the context kills the rest of its group."""

    def __init__(self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        self.log = log
        with log.open("ab") as output:
            self.popen = subprocess.Popen(
                dying_with_parent(list(command)),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**_inherited(), **(environment or {})},
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        """All that the command has printed."""
        return self.log.read_text(errors="replace")

    @property
    def alive(self) -> bool:
        """Whether the command runs."""
        return self.popen.poll() is None

    def lives_for(self, seconds: float) -> bool:
        """Waits for `seconds`; returns False if the process ended meanwhile."""
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(seconds)
        return self.alive

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the command alone."""
        self.popen.send_signal(number)

    def send_to_group(self, number: signal.Signals) -> None:
        """Sends a signal to the command and its children, of which Java has a group of its own."""
        for pid in (self.popen.pid, *children(self.popen.pid)):
            with suppress(ProcessLookupError):
                os.killpg(os.getpgid(pid), number)

    def wait(self, seconds: float = PATIENCE_S) -> int:
        """Returns the exit code; fails if the command runs after `seconds`, or `PATIENCE_S` if that is more."""
        limit_s = max(seconds, PATIENCE_S)
        try:
            return self.popen.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {limit_s:g} s: {self.said[-2000:]}") from None

    def kill(self) -> None:
        """Kills the whole group, as a power cut would."""
        self.send_to_group(signal.SIGKILL)
        self.popen.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


def _inherited() -> dict[str, str]:
    """Returns the tests' environment, less what only they understand: the service refuses settings it does not know."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TIDEMARK_TEST_")}


def tidemark(log: Path, *arguments: str, driver: Mapping[str, str] = SMALL_DRIVER) -> Process:
    """Runs the `tidemark` command of this environment."""
    return Process([sys.executable, "-m", "tidemark.pipeline.cli", *arguments], log, driver)


def producers(log: Path, *arguments: str) -> Process:
    """Runs the `producers` command of this environment."""
    return Process([sys.executable, "-m", "tidemark.producers", *arguments], log)
