"""Runs a command so that Docker does not restart it for ever after configuration errors (exit code 2).

Docker's restart policies cannot exclude an exit code, and `on-failure` does not start a container again after a reboot.
So this process repeats the command for an hour after exit code 2, because a broker or store may be unavailable, then
waits for SIGTERM: the container stays, reports itself as unhealthy, and its log ends with the error.
"""

import signal
import subprocess
import sys
from collections.abc import Sequence
from threading import Event
from types import FrameType
from typing import Final

_CONFIGURATION_ERROR: Final = 2
_ATTEMPTS: Final = 120
"""For an hour: a broker may be away, which also ends a first start with this exit code."""
_PAUSE_S: Final = 30.0
_HELD: Final = "{attempts} attempts ended with a configuration error: correct it, and run `docker compose up` again\n"


def hold(words: Sequence[str], attempts: int = _ATTEMPTS, pause_s: float = _PAUSE_S) -> int:
    """Returns the exit code of the command; exit code 2 only after SIGTERM or SIGINT, which are passed on to it."""
    asked = Event()
    for attempt in range(1, attempts + 1):
        code = _run(words, asked)
        if code != _CONFIGURATION_ERROR or asked.is_set():
            return code
        if attempt == attempts:
            sys.stderr.write(_HELD.format(attempts=attempts))
        if asked.wait(pause_s if attempt < attempts else None):
            break
    return _CONFIGURATION_ERROR


def _run(words: Sequence[str], asked: Event) -> int:
    """Returns the exit code of a single run, of a killed process as a shell does."""
    started = list[subprocess.Popen[bytes]]()

    def forward(number: int, _: FrameType | None) -> None:
        asked.set()
        for child in started:
            child.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, forward)
    child = subprocess.Popen(words)
    started.append(child)
    if asked.is_set():  # before there was a child to pass it on to
        child.terminate()
    code = child.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(hold(sys.argv[1:]))
