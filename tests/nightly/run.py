"""Runs the parts of a night in turn, and cuts off any part that takes longer than its share."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
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
    for number, part in enumerate(night.parts):
        minutes = share_minutes(part, [*night.parts[number + 1 :]], (until - time.monotonic()) / 60)
        yield _result(part, max(minutes, 0), folder, night.seed, grace_s)


def _result(part: Part, minutes: float, folder: Path, seed: int, grace_s: float) -> Result:
    arguments, began = part.arguments(minutes), time.monotonic()
    log, summary = folder / f"{part.name}.log", folder / f"{part.name}.json"
    summary.unlink(missing_ok=True)
    code = _exit_code(arguments, log, {FILE: str(summary), "TESTS_SEED": str(seed)}, minutes * 60, grace_s)
    found = found_by(part, log.read_text(errors="replace"), Summary.read(summary), seed)
    return Result(part, arguments, code, time.monotonic() - began, found)


def _exit_code(
    arguments: tuple[str, ...], log: Path, environment: Mapping[str, str], seconds: float, grace_s: float
) -> int | None:
    """Runs a command in a process group of its own; returns its exit code, or None if it was cut off."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            dying_with_parent([shutil.which(arguments[0]) or arguments[0], *arguments[1:]]),
            cwd=ROOT,
            env={**_own_environment(), "PYTHONUNBUFFERED": "1", "TESTS_FAILURES_AT_ONCE": "1", **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        return process.returncode if ends_within(process, seconds) else None
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
