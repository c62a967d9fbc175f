"""The Java process that Spark runs in: whether it has ended, noticed at once.

Without it every call fails or waits, and a Python process cannot have a second one.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any, Final

from pyspark import SparkContext
from pyspark.sql import SparkSession

ENDED: Final = "Spark's Java process has ended: what was not committed is read again by the next start"
_LOOK_S: Final = 0.5
_ORDERLY_S: Final = 10.0
"""How long clean-up may take that waits for an answer from what is no more."""
_PARENT: Final = os.getppid()


def java_pid() -> int | None:
    """The process id; None before there is one."""
    gateway = SparkContext._gateway  # noqa: SLF001 - there is no other way to the process
    if gateway is None:
        return None
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    return _PARENT if process is None else process.pid  # spark-submit started us: it is our parent


def heap_bytes(session: SparkSession) -> int:
    """The most that its heap may become."""
    java: Any = session.sparkContext._jvm  # noqa: SLF001 - PySpark has no way to it
    return int(java.java.lang.Runtime.getRuntime().maxMemory())


def java_ended(within_s: float = 0) -> bool:
    """Whether it ran and has ended, or does so within a time."""
    gateway = SparkContext._gateway  # noqa: SLF001 - there is no other way to the process
    if gateway is None:
        return False
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if process is None:  # spark-submit started us: it is our parent
        return os.getppid() != _PARENT
    with suppress(subprocess.TimeoutExpired):
        process.wait(within_s)
    return process.returncode is not None


@contextmanager
def java_watched(on_end: Callable[[], None]) -> Iterator[None]:
    """Calls `on_end` from another thread when the Java process has ended.

    If the context is then not left in time the process ends where it is, with exit code 1 and a sentence.
    """
    left = Event()

    def watch() -> None:
        while not java_ended():
            if left.wait(_LOOK_S):
                return
        on_end()
        if not left.wait(_ORDERLY_S):
            sys.stderr.write(f"tidemark: {ENDED}\n")
            sys.stderr.flush()
            os._exit(1)

    Thread(target=watch, name="java-watch", daemon=True).start()
    try:
        yield
    finally:
        left.set()
