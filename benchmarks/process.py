"""Processes that do one thing alone: started, awaited, and heard when they fail."""

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
_STOP_S = 120.0
_SHOWN_LINES = 15
_SHOWN_WIDTH = 300


@contextmanager
def started(
    arguments: Sequence[str], log: Path, program: Sequence[str] = (sys.executable, "-m")
) -> Iterator[subprocess.Popen[bytes]]:
    """`python -m ...` tied to this process, its words in `log`; told to end when the block is left."""
    with log.open("wb") as words:
        process = subprocess.Popen(
            dying_with_parent([*program, *arguments]),
            cwd=_ROOT,
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process
    finally:
        stop(process)


def run(arguments: Sequence[str], log: Path, program: Sequence[str] = (sys.executable, "-m")) -> None:
    """Run to the end. Raises BenchmarkError with the last words if that is not a good one."""
    with started(arguments, log, program) as process:
        process.wait()
    if process.returncode:
        raise BenchmarkError(f"`{arguments[0]}` ended with {process.returncode}:\n{last_words(log)}")


def stop(process: subprocess.Popen[bytes]) -> int:
    """SIGTERM, and after two minutes SIGKILL; returns the exit code."""
    process.terminate()
    try:
        return process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def wait_until(done: Callable[[], bool], process: subprocess.Popen[bytes], log: Path, seconds: float) -> None:
    """Raises BenchmarkError if the process ends first, or the time does."""
    deadline = time.monotonic() + seconds
    while not done():
        if process.poll() is not None or time.monotonic() > deadline:
            failure = f"took more than {seconds:g} s" if process.returncode is None else f"ended: {process.returncode}"
            raise BenchmarkError(f"a process {failure}\n{last_words(log)}")
        time.sleep(_POLL_S)


def last_words(log: Path) -> str:
    """The causes that a log names, which Spark buries under plans and traces, and its end."""
    lines = [line[:_SHOWN_WIDTH] for line in log.read_text(errors="replace").splitlines()]
    causes = [line for line in lines if line.startswith("Caused by:")]
    return "\n".join([*dict.fromkeys(causes), *lines[-_SHOWN_LINES:]])
