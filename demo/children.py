"""The processes that the demo starts: tied to it, but not to its terminal, so that Ctrl-C ends them in order."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from demo.die_with_parent import dying_with_parent
from pipeline.errors import TidemarkError

_END_S: Final = 120
_SHOWN_LINES: Final = 8


@dataclass(frozen=True, slots=True)
class Child:
    """A running command, and where its words go."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def check(self) -> None:
        """Raises TidemarkError, with its last words, if it has ended."""
        if self.process.poll() is not None:
            self._fail(f"ended by itself with exit code {self.process.returncode}")

    def end(self) -> None:
        """SIGTERM, and waits. Raises TidemarkError if that does not end it with exit code 0."""
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(_END_S):
            self._fail(f"ended with exit code {self.process.returncode}")

    def _fail(self, what: str) -> None:
        words = "\n".join(self.log.read_text(errors="replace").splitlines()[-_SHOWN_LINES:])
        raise TidemarkError(f"the {self.name} {what}:\n{words}")


@contextmanager
def child(
    name: str, command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> Iterator[Child]:
    """Runs a command, and at the end kills what is left of it and of what it started."""
    log = folder / f"{name}.log"
    with log.open("wb") as words:
        process = subprocess.Popen(
            dying_with_parent(list(command)),
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
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
    """A port nobody listens on at this moment."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
