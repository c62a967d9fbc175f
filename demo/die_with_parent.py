"""Runs a command that dies with its parent: `python die_with_parent.py PARENT_PID COMMAND...`.

A parent that is killed by SIGKILL runs no clean-up, and an orphaned broker keeps its port and its memory. On Linux the
kernel kills the command; elsewhere the parent's own clean-up must suffice. The kernel watches the *thread* that started
the command, so start it from a thread that lives as long as the command is needed, best the main thread.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def dying_with_parent(command: list[str]) -> list[str]:
    """Returns the command line that runs `command` and has it killed when this process dies."""
    return [sys.executable, __file__, str(os.getpid()), *command]


def main() -> None:
    """Ties this process to its parent, then replaces it by the command."""
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # The parent may have died before the kernel was asked to watch it.
        if os.getppid() != int(parent):
            sys.exit(1)
    os.execv(command[0], command)  # noqa: S606 replacing this process is the purpose


if __name__ == "__main__":
    main()
