"""Runs the parts of a night, and cuts off any part that takes longer than its share."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Final

from benchmarks.measure import descendants
from demo.die_with_parent import dying_with_parent
from tests.nightly.parts import Part, share_minutes
from tests.nightly.report import Night
from tests.nightly.results import Result, found_by
from tests.support.evidence import ROOT
from tests.support.summary import FILE, Summary

GRACE_S: Final = 30
"""How long a part that is cut off may remove its files."""


def results_of(night: Night, folder: Path, grace_s: float) -> Iterator[Result]:
    """Runs the parts; yields the result of each. `folder` gets a log for each part."""
    until = time.monotonic() + night.hours * 3600
    in_turn = [part for part in night.parts if not part.is_beside]
    with ExitStack() as stack:
        beside = [
            stack.enter_context(_started(part, 60 * night.hours, folder, night.seed, grace_s))
            for part in night.parts
            if part.is_beside
        ]
        for number, part in enumerate(in_turn):
            minutes = max(share_minutes(part, in_turn[number + 1 :], (until - time.monotonic()) / 60), 0)
            with _started(part, minutes, folder, night.seed, grace_s) as running:
                result = running.result(minutes * 60)
            yield result
        for running in beside:
            yield running.result(max(until - time.monotonic(), 0))


@dataclass
class _Running:
    """A part whose process was started, with the files of its log and its summary."""

    part: Part
    arguments: tuple[str, ...]
    seed: int
    log: Path
    summary: Path
    process: "subprocess.Popen[bytes]"
    began: float = field(default_factory=time.monotonic)
    ended: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        Thread(target=self._note_the_end, daemon=True).start()

    def _note_the_end(self) -> None:
        self.process.wait()
        self.ended.append(time.monotonic())

    def result(self, seconds: float) -> Result:
        """Waits for the end for at most `seconds`; a part that has not ended by then is cut off."""
        code = self.process.returncode if ends_within(self.process, seconds) else None
        lasted = (self.ended[0] if self.ended else time.monotonic()) - self.began
        found = found_by(self.part, self.log.read_text(errors="replace"), Summary.read(self.summary), self.seed)
        return Result(self.part, self.arguments, code, lasted, found)


@contextmanager
def _started(part: Part, minutes: float, folder: Path, seed: int, grace_s: float) -> Iterator[_Running]:
    """Starts a part in a process group of its own; in the end, ends it and all that it started."""
    arguments, log, summary = part.arguments(minutes), folder / f"{part.name}.log", folder / f"{part.name}.json"
    summary.unlink(missing_ok=True)
    own = {"PYTHONUNBUFFERED": "1", "TESTS_FAILURES_AT_ONCE": "1", FILE: str(summary), "TESTS_SEED": str(seed)}
    with log.open("wb") as output:
        process = subprocess.Popen(
            dying_with_parent([shutil.which(arguments[0]) or arguments[0], *arguments[1:]]),
            cwd=ROOT,
            env={**_own_environment(), **own},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield _Running(part, arguments, seed, log, summary, process)
    finally:
        _end(process, grace_s)


def _own_environment() -> dict[str, str]:
    """Returns the environment without what `make` hands down: `ARGS` are those of the night, not of its parts."""
    theirs = ("ARGS", "MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS")
    return {name: value for name, value in os.environ.items() if name not in theirs}


def ends_within(process: "subprocess.Popen[bytes]", seconds: float) -> bool:
    """Waits for the end of a process; returns whether it came in time."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.poll() is not None


def _end(process: "subprocess.Popen[bytes]", grace_s: float) -> None:
    """Interrupts the process and all that it started, and kills what is left after `grace_s`."""
    groups = _groups(process.pid)
    if process.poll() is None:
        _signal({process.pid}, signal.SIGINT)
        ends_within(process, grace_s)
    _signal(groups | _groups(process.pid), signal.SIGKILL)
    process.wait()


def _groups(pid: int) -> set[int]:
    """Returns the process groups of a process and its descendants, some of which have groups of their own."""
    groups = {pid}
    for descendant in descendants(pid):
        with suppress(ProcessLookupError):
            groups.add(os.getpgid(descendant))
    return groups - {os.getpgrp()}


def _signal(groups: set[int], number: signal.Signals) -> None:
    for group in groups:
        with suppress(ProcessLookupError):
            os.killpg(group, number)
