"""Runs processes and reports their failures."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.errors import BenchmarkError
from demo.die_with_parent import dying_with_parent

_ROOT = Path(__file__).parent.parent
_POLL_S = 0.1
_STOP_S = 600.0
_QUOTED_LINES = 15
_QUOTED_WIDTH = 300


@contextmanager
def started(
    arguments: Sequence[str], log: Path, program: Sequence[str] = (sys.executable, "-m")
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs `python -m ...` within the block, with its output in `log`; it ends when this process ends."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            dying_with_parent([*program, *arguments]),
            cwd=_ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process
    finally:
        stop(process)


def run(arguments: Sequence[str], log: Path, program: Sequence[str] = (sys.executable, "-m")) -> None:
    """Runs a process to its end. Raises BenchmarkError with the end of its log if the exit code is not 0."""
    with started(arguments, log, program) as process:
        process.wait()
    if process.returncode:
        raise BenchmarkError(f"`{arguments[0]}` ended with {process.returncode}:\n{last_words(log)}")


def stop(process: subprocess.Popen[bytes]) -> int:
    """Sends SIGTERM, and SIGKILL after two minutes; returns the exit code."""
    process.terminate()
    try:
        return process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def wait_until(
    done: Callable[[], bool], process: subprocess.Popen[bytes], log: Path, seconds: float, poll_s: float = _POLL_S
) -> None:
    """Calls `done()` every `poll_s` seconds until it is true.

    Raises BenchmarkError if the process ends before, or after `seconds`.
    """
    deadline = time.monotonic() + seconds
    while not done():
        if process.poll() is not None or time.monotonic() > deadline:
            failure = f"took more than {seconds:g} s" if process.returncode is None else f"ended: {process.returncode}"
            raise BenchmarkError(f"a process {failure}\n{last_words(log)}")
        time.sleep(poll_s)


def last_words(log: Path) -> str:
    """Returns the causes in a log, which Spark hides between plans and traces, and its end."""
    lines = [line[:_QUOTED_WIDTH] for line in log.read_text(errors="replace").splitlines()]
    causes = [line for line in lines if line.startswith("Caused by:")]
    return "\n".join([*dict.fromkeys(causes), *lines[-_QUOTED_LINES:]])
