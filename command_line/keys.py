"""Keys that a person presses while a command works."""

import os
import select
import sys
import termios
import time
import tty
from types import TracebackType
from typing import Any, Final, Self

QUITS: Final = ("q", "Q")
"""Keys that end a command."""


class Keys:
    """Reads keys of the terminal without waiting for Enter; Ctrl-C still interrupts. Restores the terminal on exit.

    Without a terminal, or in the background, no key is ever pressed.
    """

    def __init__(self) -> None:
        self._modes: list[Any] | None = None

    def __enter__(self) -> Self:
        if sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp():
            self._modes = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._modes is not None:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._modes)

    def pressed(self, wait_s: float) -> str:
        """Waits for a key, at most `wait_s` seconds; returns it, or an empty text."""
        if self._modes is None:
            time.sleep(wait_s)
            return ""
        ready, _, _ = select.select([sys.stdin], [], [], wait_s)
        return os.read(sys.stdin.fileno(), 1).decode(errors="replace") if ready else ""
