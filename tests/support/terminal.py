"""A program in a terminal of its own: its screen, its keyboard, and the terminal's state after it."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from tests.support.waiting import PATIENCE_S

CTRL_C = b"\x03"
OTHER_SCREEN, BACK, CURSOR_HIDDEN, CURSOR_SHOWN = "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25l", "\x1b[?25h"
_HOME = "\x1b[H"
# In a session of its own whose terminal is standard input, so that keys become signals.
_IN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.executable, sys.argv[1:])"
)


class Terminal:
    """A Python module at work in a pseudo-terminal."""

    def __init__(self, module: str, *arguments: str, rows: int = 50, columns: int = 120) -> None:
        self._ours, self._theirs = pty.openpty()
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.modes_before = self.modes()
        command: Sequence[str] = (sys.executable, "-c", _IN_TERMINAL, sys.executable, "-m", module, *arguments)
        self.popen = subprocess.Popen(
            command,
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color"},
        )
        self._said = b""
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    @property
    def said(self) -> str:
        """All that it wrote so far, with what steers the terminal."""
        return self._said.decode(errors="replace")

    def screen(self) -> str:
        """The text of the last picture that is whole, where each begins at the top."""
        pictures = self.said.split(_HOME)
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", pictures[-2]) if len(pictures) > 1 else ""

    def modes(self) -> list[Any]:
        """How the terminal takes and shows what is typed."""
        return termios.tcgetattr(self._theirs)

    def press(self, keys: bytes) -> None:
        """Presses keys."""
        os.write(self._ours, keys)

    def wait(self) -> int:
        """Returns the exit code once the program has ended."""
        return self.popen.wait(PATIENCE_S)

    def _listen(self) -> None:
        try:
            while heard := os.read(self._ours, 65536):
                self._said += heard
        except OSError:
            return  # the terminal is gone

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()
        os.close(self._theirs)
        self._thread.join(PATIENCE_S)
        os.close(self._ours)
