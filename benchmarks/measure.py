"""Wall time, CPU time and memory of this process and its descendants. Linux only: reads /proc."""

import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# Fields after the command's name in /proc/PID/stat.
_PARENT = 1
_CPU = slice(11, 15)  # user and system time, own and of the children that have ended


class Stopwatch:
    """Measures a block: `seconds` of wall time and `cpu_seconds` of this process and its descendants."""

    seconds = 0.0
    cpu_seconds = 0.0

    def __enter__(self) -> Self:
        """Starts the measurement."""
        self.seconds, self.cpu_seconds = -time.perf_counter(), -_cpu_seconds()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops the measurement."""
        self.seconds += time.perf_counter()
        self.cpu_seconds += _cpu_seconds()


def children(parent: int) -> list[int]:
    """Returns the child processes of `parent`."""
    return [pid for pid, stat in _stats().items() if int(stat[_PARENT]) == parent]


def descendants(ancestor: int | None = None) -> list[int]:
    """Returns all descendants of the process `ancestor`, by default of this process."""
    pids = children(ancestor or os.getpid())
    for pid in pids:
        pids.extend(children(pid))
    return pids


def resident_bytes(pid: int) -> int:
    """Returns the resident memory of a process; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    except OSError:
        return 0


def peak_bytes(pid: int) -> int:
    """Returns the peak resident memory of a process; 0 if it has ended."""
    try:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    except OSError:
        return 0
    return int(status.get("VmHWM", "0 kB").split()[0]) * 1024


def cpu_seconds(*pids: int) -> float:
    """Returns the CPU time that processes have used so far; a process that has ended counts as 0."""
    stats = _stats()
    return sum(int(ticks) for pid in pids if pid in stats for ticks in stats[pid][_CPU]) / _TICKS_PER_SECOND


def _cpu_seconds() -> float:
    return cpu_seconds(os.getpid(), *descendants())


def _stats() -> dict[int, list[str]]:
    stats = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
        except OSError:  # the process has just ended
            continue
        stats[int(folder.name)] = stat.rpartition(")")[2].split()
    return stats
