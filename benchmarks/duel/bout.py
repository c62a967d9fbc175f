"""Runs a contestant while the topic is written, kills it in the middle, starts it again, and judges its table."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from benchmarks.duel.contestant import Contestant
from benchmarks.duel.feed import Feed
from benchmarks.duel.judgement import Verdict, judge
from benchmarks.duel.scenario import KILLED_MS, MUST_COUNT, Kind, Scenario
from benchmarks.errors import BenchmarkError
from benchmarks.measure import cpu_seconds, descendants
from benchmarks.process import last_words, wait_until
from demo.die_with_parent import dying_with_parent

_ROOT: Final = Path(__file__).parents[2]
_POLL_S: Final = 3.0
_START_S: Final = 600.0
"""Most seconds from the start of a process to its first rows."""
_FEED_S: Final = 300.0
_SETTLED_S: Final = 12.0
_SILENT_S: Final = 60.0
"""A table is final if it did not change for this long: `_SETTLED_S` if no event is missing, otherwise `_SILENT_S`,
which is longer than any time-out of the contestants.
"""
_DEADLINE_S: Final = 300.0


class Lives:
    """The processes of a contestant, one after another. `cpu_seconds` are those of all that were killed."""

    def __init__(self, command: Callable[[], list[str]], log: Path) -> None:
        """Starts nothing yet; the output of all processes is appended to `log`."""
        self.cpu_seconds = 0.0
        self._command, self.log = command, log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts a process in a session of its own, which is killed when the duel ends."""
        with self.log.open("ab") as output:
            self._process = self._spawn(output)

    def kill(self) -> None:
        """Sends SIGKILL to the process and its children."""
        if process := self._process:
            self.cpu_seconds += cpu_seconds(process.pid, *descendants(process.pid))
            with suppress(ProcessLookupError):  # it has ended by itself
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self._process = None

    def require_running(self) -> None:
        """Raises BenchmarkError with the end of the log if the process has ended by itself."""
        if self._process and self._process.poll() is not None:
            raise BenchmarkError(f"ended by itself with {self._process.returncode}:\n{last_words(self.log)}")

    def wait(self, done: Callable[[], bool], seconds: float) -> None:
        """Waits until `done()`. Raises BenchmarkError if the process ends before, or after `seconds`."""
        assert self._process  # noqa: S101 - for the type checker
        wait_until(done, self._process, self.log, seconds, _POLL_S)

    def _spawn(self, output: IO[bytes]) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            dying_with_parent(self._command()),
            cwd=_ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def fight(contestant: Contestant, scenario: Scenario, seconds: float) -> tuple[dict[Kind, Verdict], float]:
    """Returns the verdicts on a contestant, and its CPU seconds. `seconds` is how long writing takes.

    Raises BenchmarkError or SetUpError if the contestant cannot run.
    """
    contestant.prepare()
    arena = contestant.arena
    feed = Feed(arena.bootstrap_servers, arena.topic, scenario, seconds)
    lives = Lives(contestant.command, arena.folder / "log")
    lives.start()
    try:
        feed.start()
        lives.wait(lambda: bool(contestant.table()), _START_S)
        feed.warm.set()
        lives.wait(lambda: feed.moment >= KILLED_MS, _FEED_S + seconds)
        lives.kill()
        before = contestant.table()
        lives.start()
        lives.wait(lambda: contestant.table() != before, _START_S)
        feed.caught_up.set()
        lives.wait(lambda: feed.written.is_set() or not feed.is_alive(), _FEED_S + seconds)
        if feed.error or not feed.written.is_set():
            raise BenchmarkError(f"the topic could not be written: {feed.error}")
        _settle(lives, lambda: _judged(contestant, scenario))
    finally:
        lives.kill()
        for event in (feed.warm, feed.caught_up, feed.end):
            event.set()
    return _judged(contestant, scenario), lives.cpu_seconds


def _judged(contestant: Contestant, scenario: Scenario) -> dict[Kind, Verdict]:
    return judge(scenario.truth, scenario.malformed, contestant.table(), contestant.said())


def _settle(lives: Lives, verdicts: Callable[[], dict[Kind, Verdict]]) -> None:
    """Waits until the verdicts do not change any more."""
    last, since, deadline = verdicts(), time.monotonic(), time.monotonic() + _DEADLINE_S
    while time.monotonic() < deadline:
        complete = all(last[kind].counted == last[kind].sent for kind in MUST_COUNT)
        if time.monotonic() - since > (_SETTLED_S if complete else _SILENT_S):
            return
        lives.require_running()
        time.sleep(_POLL_S)
        if (now := verdicts()) != last:
            last, since = now, time.monotonic()
