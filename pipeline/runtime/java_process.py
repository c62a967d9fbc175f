"""Watches the Java process in which Spark runs.

Without it every call fails or waits, and a Python process can start Java only once.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Final

from pyspark.sql import SparkSession

from tidemark.pipeline.runtime.pyspark_internals import is_java_started, java_child, java_packages

ENDED: Final = "Spark's Java process has ended: the next start reads again what was not committed"
_LOOK_S: Final = 0.5
_CLEAN_UP_S: Final = 10.0
"""Time for a clean-up in which a call may wait for the ended process."""
_PARENT: Final = os.getppid()
"""The Java process if spark-submit started this process."""


def java_pid() -> int | None:
    """Returns the process id; None before the process is started."""
    if not is_java_started():
        return None
    process = java_child()
    return _PARENT if process is None else process.pid


def heap_bytes(session: SparkSession) -> int:
    """Returns the maximum size of the heap."""
    return int(java_packages(session).java.lang.Runtime.getRuntime().maxMemory())


def java_ended(within_s: float = 0) -> bool:
    """Returns whether the process was started and has ended, or ends within `within_s` seconds."""
    if not is_java_started():
        return False
    process = java_child()
    if process is None:
        return os.getppid() != _PARENT
    with suppress(subprocess.TimeoutExpired):
        process.wait(within_s)
    return process.returncode is not None


@contextmanager
def java_watched(on_end: Callable[[], None]) -> Iterator[None]:
    """Calls `on_end` in another thread when the Java process has ended.

    If the context is not left in time after that, this process ends at once with exit code 1 and a sentence.
    """
    left = Event()

    def watch() -> None:
        while not java_ended():
            if left.wait(_LOOK_S):
                return
        on_end()
        if not left.wait(_CLEAN_UP_S):
            sys.stderr.write(f"tidemark: {ENDED}\n")
            sys.stderr.flush()
            os._exit(1)

    Thread(target=watch, name="java-watch", daemon=True).start()
    try:
        yield
    finally:
        left.set()
