"""The cores and the memory of this process's container, which may be less than those of the machine.

Both generations of cgroups are read, as the Java virtual machine does: a quota counts at any level of the
hierarchy. Source: Linux, admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst; scheduler/sched-bwc.rst.
"""

import ctypes
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tidemark.pipeline.errors import SetUpError

MIB: Final = 1024 * 1024
_ROOT: Final = Path("/")
_UNLIMITED_HEAP: Final = 4096 * MIB
"""The heap limit on a machine that other programs may share."""
_LEAST_HEAP: Final = 512 * MIB
"""Below it Spark refuses to start."""
_MMAP_THRESHOLD: Final = -3
"""`M_MMAP_THRESHOLD` in glibc's malloc.h."""
_MMAP_BYTES: Final = 256 * 1024


def cores(root: Path = _ROOT) -> int:
    """Returns how many cores this process may use, by its affinity and by the quota of its container, rounded up."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min([allowed, *(max(1, math.ceil(quota)) for quota in _quotas(root))])


def memory(root: Path = _ROOT) -> int | None:
    """Returns the memory limit of the container in bytes; None if it has no limit below the memory of the machine."""
    groups = _groups(root, "memory")
    limits = (_read(folder / "memory.max") or _read(folder / "memory.limit_in_bytes") for folder in groups)
    # No limit: cgroup v1 reports a huge number, v2 the word `max`.
    limit = min((int(text) for text in limits if text.isdigit()), default=_physical())
    return limit if limit < _physical() else None


def heap(root: Path = _ROOT) -> str:
    """Returns the heap of the driver's JVM in Spark's format: half of the memory, at most 4 GiB without a limit.

    The other half is for memory of the JVM outside its heap, and for Python with delta-rs. Raises SetUpError if Spark
    cannot start with this heap.
    """
    limit = memory(root)
    size = min(_UNLIMITED_HEAP, _physical() // 2) if limit is None else limit // 2
    if size < _LEAST_HEAP:
        raise SetUpError(
            f"there are {size * 2 // MIB} MiB of memory, of which half would be the heap of Spark: give the container "
            f"{2 * _LEAST_HEAP // MIB} MiB at least"
        )
    return f"{size // MIB}m"


def return_freed_memory() -> None:
    """Makes C's allocator return pieces of 256 KiB and more to the system as soon as they are freed.

    By default glibc retains pieces of any size that it has seen freed, up to 32 MiB: a process held hundreds of
    megabytes of freed rows from Spark. Does nothing with another C library. Source: mallopt(3).
    """
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(_MMAP_THRESHOLD, _MMAP_BYTES)


def _physical() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _quotas(root: Path) -> Iterator[float]:
    """Yields each limit on cores that applies to this process."""
    for folder in _groups(root, "cpu"):
        quota, _, period = _read(folder / "cpu.max").partition(" ")
        quota = quota or _read(folder / "cpu.cfs_quota_us")
        period = period or _read(folder / "cpu.cfs_period_us")
        if quota.isdigit() and period.isdigit():  # neither `max` nor -1
            yield int(quota) / int(period)


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """Yields the folders of the control groups of this process, up to the top.

    In a container with cgroup v1 the path is often that of the host, of which only the top exists.
    """
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers or controller in controllers.split(","):
            top = root / "sys/fs/cgroup" / controllers
            own = top / path.lstrip("/")
            yield from [own, *own.parents[: len(own.relative_to(top).parts)]]


def _read(file: Path) -> str:
    """Returns the text of a file; empty if it does not exist, as on systems other than Linux."""
    try:
        return file.read_text().strip()
    except OSError:
        return ""
