"""Child processes of the demo: they die with it, but not by Ctrl-C, so that it can stop them in order."""

import fcntl
import os
import secrets
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from demo.die_with_parent import dying_with_parent
from tidemark.pipeline.errors import TidemarkError

_END_S: Final = 300
_PORTS: Final = range(15_000, 32_000)
"""Below the ports that Linux and macOS give to outgoing connections."""
_GIVEN: Final = set[int]()
"""The ports that this process was given."""
_QUOTED_LINES: Final = 8


@dataclass(frozen=True, slots=True)
class Child:
    """A running command, and the file with its output."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def check(self, *, may_finish: bool = False) -> None:
        """Raises TidemarkError with the end of the log if the command has ended, except with 0 if it `may_finish`."""
        code = self.process.poll()
        if code or (code == 0 and not may_finish):
            self._fail(f"ended by itself with exit code {code}")

    def end(self) -> None:
        """Sends SIGTERM and waits. Raises TidemarkError if the exit code is not 0."""
        self.process.send_signal(signal.SIGTERM)  # does nothing if it has finished
        if self.process.wait(_END_S):
            self._fail(f"ended with exit code {self.process.returncode}")

    def _fail(self, failure: str) -> None:
        lines = "\n".join(self.log.read_text(errors="replace").splitlines()[-_QUOTED_LINES:])
        raise TidemarkError(f"the {self.name} {failure}:\n{lines}")


@contextmanager
def child(
    name: str, command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> Iterator[Child]:
    """Runs `command` with its output in `folder`; on exit kills it and its child processes."""
    log = folder / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            dying_with_parent(list(command)),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
    try:
        yield Child(name, process, log)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def free_port() -> int:
    """Returns a port that is free now, and that neither an outgoing connection nor another caller takes."""
    (port,) = free_ports(1)
    return port


def free_ports(count: int) -> list[int]:
    """Returns different ports, like `free_port`: no process gets them from here while this process runs."""
    ports = list[int]()
    while len(ports) < count:
        port = secrets.choice(_PORTS)
        if port in _GIVEN:
            continue
        with socket.socket() as probe, suppress(OSError):
            fcntl.lockf(_reservations(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
            probe.bind(("127.0.0.1", port))
            _GIVEN.add(port)
            ports.append(port)
    return ports


@cache
def _reservations() -> int:
    """Returns a file of which processes lock a byte for each port that they were given: some use it much later."""
    path = Path(tempfile.gettempdir()) / f"tidemark-ports-{os.getuid()}"
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
